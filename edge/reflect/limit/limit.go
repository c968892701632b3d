// Package limit bounds the cost of learning a service, whatever its descriptors contain: received
// bytes, decoded descriptors and computation. A Meter counts them for one attempt.
package limit

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Bounds of one attempt to learn a service (docs/reflect.md, "Bounds of learning").
const (
	// MaxTime bounds the duration of an attempt.
	MaxTime = 2 * time.Minute
	// MaxServices bounds the services that are read, MaxFiles the files that describe them.
	MaxServices = 1_000
	MaxFiles    = 10_000
	// MaxDescriptorBytes bounds the size of all files, MaxAnswerBytes that of all reflection
	// answers, which may repeat files.
	MaxDescriptorBytes = 32 << 20
	MaxAnswerBytes     = 8 * MaxDescriptorBytes
	// MaxElements bounds the declarations in the files and the contents of their options,
	// MaxLocations the source locations.
	MaxElements  = 300_000
	MaxLocations = 2_000_000
	// MaxDepth bounds the nesting of declarations, of imports, and of messages in a schema.
	MaxDepth = 128
	// MaxName bounds a full name or the name of a file, MaxNameBytes the full names of all
	// declarations together.
	MaxName      = 512
	MaxNameBytes = 64 << 20
	// MaxTools bounds the number of tools.
	MaxTools = 5_000
	// MaxText bounds a comment or a description, in bytes.
	MaxText = 16 << 10
	// MaxSchemasBytes bounds the JSON of all schemas together.
	MaxSchemasBytes = 40 << 20
	// MaxAnswerMemory bounds the estimated memory of a decoded answer; MaxAnswersMemory that of all
	// answers of a backend that are decoded at the same time, with their JSON.
	MaxAnswerMemory  = 64 << 20
	MaxAnswersMemory = 128 << 20
	// MaxAnyTime bounds the time to request a type found in a google.protobuf.Any, MaxAnyAsked the
	// number of requested types per call, MaxAnyMissed the stored names of unknown types. Their
	// total cost is bounded as that of an attempt.
	MaxAnyTime   = 5 * time.Second
	MaxAnyAsked  = 32
	MaxAnyMissed = 1_000
	// MaxNotes bounds the number of notes, MaxNote the size of one, in bytes.
	MaxNotes = 1_000
	MaxNote  = 600
	// MaxSteps bounds the computation: visited declarations, fields of schemas, rules. For small
	// descriptors the bound is lower, FreeSteps plus StepsPerByte for each of their bytes.
	MaxSteps     = 4_000_000
	FreeSteps    = 1_000_000
	StepsPerByte = 16
)

// checkEvery is the number of steps between two checks of the context.
const checkEvery = 1 << 10

// Meter counts the cost of one attempt to learn a service. It is for one goroutine.
type Meter struct {
	ctx  context.Context
	room *Room

	// steps is the number of counted steps, and looked that at the last check of the context.
	steps, looked int64
	// bytes, elements and location count the scanned descriptors, names the bytes of full names, and
	// schemas those of schemas.
	bytes, elements, location, names, schemas int
	// err is why the work may not continue. full is the error of a full room, or nil.
	err, full error
}

// New returns a Meter whose work ends with ctx and whose results are accounted to room, which may
// be nil.
func New(ctx context.Context, room *Room) *Meter { return &Meter{ctx: ctx, room: room} }

// Steps returns the number of counted steps.
func (m *Meter) Steps() int64 { return m.steps }

// Bytes returns the number of counted bytes of descriptors.
func (m *Meter) Bytes() int { return m.bytes }

// allowed returns the bound of the steps for the bytes received so far.
func (m *Meter) allowed() int64 {
	return min(FreeSteps+StepsPerByte*int64(m.bytes), MaxSteps)
}

// Step counts n steps and reports whether the work may continue. After it has returned false it
// always does.
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
		m.err = context.Cause(m.ctx)
	}
	return m.err == nil
}

// Err returns why the work may not continue, or nil.
func (m *Meter) Err() error { return m.err }

// Room returns the room that accounts for the results, or nil.
func (m *Meter) Room() *Room { return m.room }

// Full returns the error of a full room, or nil. After an error the results must not be used.
func (m *Meter) Full() error { return m.full }

// take accounts for bytes in the room. If it is full, the work may not continue.
func (m *Meter) take(bytes int) error {
	if m.full == nil {
		m.full = m.room.Take(int64(bytes))
	}
	m.err = cmp.Or(m.err, m.full)
	return m.full
}

// MostSchemas returns the bound of the size of all schemas: MaxSchemasBytes, or less if these would
// take more than half of the memory.
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
