// Package limit bounds what learning a service costs: what is received, what is read of it and the
// work on it, whatever the service's descriptors say. A Meter counts all of it for one attempt.
package limit

import (
	"context"
	"fmt"
	"time"
)

// Bounds of one attempt to learn a service (docs/reflect.md, "Bounds of learning").
const (
	// MaxTime bounds the attempt, questions and computation together.
	MaxTime = 2 * time.Minute
	// MaxServices bounds the services that are asked about, MaxFiles the files that may describe them.
	MaxServices = 1_000
	MaxFiles    = 10_000
	// MaxDescriptorBytes bounds the files together, MaxAnswerBytes the answers of server reflection,
	// which may hold a file many times.
	MaxDescriptorBytes = 32 << 20
	MaxAnswerBytes     = 8 * MaxDescriptorBytes
	// MaxElements bounds the declarations in the files and what their options hold, MaxLocations what
	// the files say of places in the source.
	MaxElements  = 300_000
	MaxLocations = 2_000_000
	// MaxDepth bounds how deep declarations nest, how deep files import each other, and how deep the
	// messages of a schema nest.
	MaxDepth = 128
	// MaxName bounds a full name or the name of a file, MaxNameBytes the full names of all
	// declarations together.
	MaxName      = 512
	MaxNameBytes = 64 << 20
	// MaxTools bounds the tools.
	MaxTools = 5_000
	// MaxText bounds a comment or a description, in bytes.
	MaxText = 16 << 10
	// MaxSchemasBytes bounds the schemas of all tools together, as JSON.
	MaxSchemasBytes = 40 << 20
	// MaxAnswerMemory bounds what an answer takes in memory when it is decoded, as it is estimated from its encoding;
	// MaxAnswersMemory those of a backend that are read at a time, with their JSON.
	MaxAnswerMemory  = 64 << 20
	MaxAnswersMemory = 128 << 20
	// MaxAnyTime bounds the questions about a type that is met in a google.protobuf.Any, MaxAnyAsked such types in one call.
	// MaxAnyMissed bounds the types that are remembered as not known. What they take together is bounded as an attempt is.
	MaxAnyTime   = 5 * time.Second
	MaxAnyAsked  = 32
	MaxAnyMissed = 1_000
	// MaxNotes bounds the notes, MaxNote one of them, in bytes.
	MaxNotes = 1_000
	MaxNote  = 600
	// MaxSteps bounds the steps of the computation: a declaration looked at, a field of a schema, a
	// rule. Below it they are bounded by FreeSteps and StepsPerByte of the descriptors.
	MaxSteps     = 4_000_000
	FreeSteps    = 1_000_000
	StepsPerByte = 16
)

// checkEvery is how many steps pass between two looks at the context.
const checkEvery = 1 << 10

// Meter counts the work of one attempt to learn a service. It is for one goroutine.
type Meter struct {
	ctx  context.Context
	room *Room

	steps, looked      int64
	bytes, names       int
	elements, location int
	schemas            int
	err                error
	// full is why the room takes no more; nil: it does.
	full error
}

// New makes a meter whose work ends with ctx, and whose results are held by room, which may be nil.
func New(ctx context.Context, room *Room) *Meter { return &Meter{ctx: ctx, room: room} }

// Steps is how many steps were counted.
func (m *Meter) Steps() int64 { return m.steps }

// Bytes is how many bytes of descriptors were counted.
func (m *Meter) Bytes() int { return m.bytes }

// allowed is how many steps there may be for what was received so far.
func (m *Meter) allowed() int64 {
	return min(FreeSteps+StepsPerByte*int64(m.bytes), MaxSteps)
}

// Step counts n steps and reports whether the work may go on. Once it may not, it never may again.
func (m *Meter) Step(n int) bool {
	if m.err != nil {
		return false
	}
	m.steps += int64(n)
	switch {
	case m.steps > m.allowed():
		m.err = fmt.Errorf("it takes more than %d steps for %d bytes of descriptors", m.allowed(), m.bytes)
	case m.steps-m.looked >= checkEvery:
		m.looked = m.steps
		if err := context.Cause(m.ctx); err != nil {
			m.err = err
		}
	}
	return m.err == nil
}

// Err is why the work may not go on; nil: it may.
func (m *Meter) Err() error { return m.err }

// Room is what holds the results of the work; nil: nothing does.
func (m *Meter) Room() *Room { return m.room }

// Full is why the room of the meter takes no more; nil: it does. What was learned must not be used then.
func (m *Meter) Full() error { return m.full }

// take adds what is held to the room.
func (m *Meter) take(bytes int) error {
	if m.full == nil {
		m.full = m.room.Take(int64(bytes))
	}
	if m.full != nil && m.err == nil {
		m.err = m.full
	}
	return m.full
}

// MostSchemas is how many bytes all schemas may have together: MaxSchemasBytes, or less where these would take more than half of the memory.
func (m *Meter) MostSchemas() int {
	if most := m.room.most(); most > 0 {
		return int(min(MaxSchemasBytes, most/2/schemaTimes))
	}
	return MaxSchemasBytes
}

// Schema counts a schema's bytes and reports whether it may be kept.
func (m *Meter) Schema(bytes int) bool {
	if m.schemas+bytes > m.MostSchemas() || m.take(schemaTimes*bytes) != nil {
		return false
	}
	m.schemas += bytes
	return true
}

// Clip shortens a text to most bytes, and marks that it was.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 { // within a character
		most--
	}
	return text[:most] + "…"
}
