package dev

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// call is a request with all spans of its rounds, whatever HTTP request or replica they ran in.
type call struct {
	// ops are the spans of its rounds and runs, in order. There is at least one.
	ops []*span
}

func (c *call) first() *span { return c.ops[0] }
func (c *call) last() *span  { return c.ops[len(c.ops)-1] }

// picture is a snapshot arranged by call.
type picture struct {
	spans    map[key]*span
	children map[key][]*span // sorted by start
	// calls are sorted latest first.
	calls   []*call
	dropped uint64
}

// isOperation reports whether a span is a request that the edge served, rather than a part of one.
func isOperation(s *span) bool {
	return s.scope == telemetry.Scope && s.kind != trace.SpanKindClient && s.get(telemetry.AttrMethod) != ""
}

// arrange arranges the spans of a snapshot by call.
func arrange(spans []*span, dropped uint64) *picture {
	p := &picture{spans: make(map[key]*span, len(spans)), children: map[key][]*span{}, dropped: dropped}
	sortByStart(spans)
	for _, s := range spans {
		p.spans[s.key] = s
	}
	of := map[key]*call{}
	for _, s := range spans {
		if s.parent.IsValid() {
			parent := key{s.key.trace, s.parent}
			p.children[parent] = append(p.children[parent], s)
		}
		if !isOperation(s) {
			continue
		}
		root := p.root(s)
		c := of[root.key]
		if c == nil {
			c = new(call)
			of[root.key] = c
			p.calls = append(p.calls, c)
		}
		c.ops = append(c.ops, s)
	}
	slices.SortStableFunc(p.calls, func(a, b *call) int { return b.first().start.Compare(a.first().start) })
	return p
}

// root returns the first stored round of the call that an operation belongs to.
func (p *picture) root(s *span) *span {
	for range maxParts { // links are foreign input and may form cycles
		before, _ := p.before(s)
		if before == nil {
			break
		}
		s = before
	}
	return s
}

// before returns the operation that s continues, and why. It returns nil if there is none, or if it
// is not stored.
func (p *picture) before(s *span) (*span, telemetry.Reason) {
	for i := range s.links {
		switch why := telemetry.Reason(get(s.links[i].attrs, telemetry.AttrReason)); why {
		case telemetry.ReasonAnswered, telemetry.ReasonContinued, telemetry.ReasonTakenOver:
			if b := p.spans[s.links[i].to]; b != nil && isOperation(b) && b.start.Before(s.start) {
				return b, why
			}
		}
	}
	return nil, ""
}

// summary is a call or a task as an entry of the list. Times are in microseconds since 1970,
// durations in microseconds.
type summary struct {
	ID string `json:"id"`
	// Task is the id of the task. Empty means that the entry is a call. For a task, Method is
	// empty, Rounds counts its runs, and Outcome is its status. Shown is the name of Target for the
	// client, if it is another one.
	Task     string  `json:"task,omitempty"`
	Method   string  `json:"method,omitempty"`
	Target   string  `json:"target,omitempty"`
	Shown    string  `json:"shown,omitempty"`
	Client   string  `json:"client,omitempty"`
	Session  string  `json:"session,omitempty"`
	Backend  string  `json:"backend,omitempty"`
	Version  string  `json:"version,omitempty"`
	Request  string  `json:"request,omitempty"`
	Start    int64   `json:"start"`
	Duration float64 `json:"duration"`
	// Busy is the part of the duration without the wait for answers of the client.
	Busy    float64 `json:"busy"`
	Running bool    `json:"running,omitempty"`
	// Outcome is telemetry.AttrOutcome of the last round. Empty while the first round runs.
	Outcome string `json:"outcome,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Error   string `json:"error,omitempty"`
	Rounds  int    `json:"rounds"`
	// Attempt is the attempt of a task's round. 0 means unknown.
	Attempt int `json:"attempt,omitempty"`
	Spans   int `json:"spans"`
	// TakenOver is true if another replica continued a run.
	TakenOver bool `json:"takenOver,omitempty"`
}

func (p *picture) summary(c *call, now time.Time) summary {
	first, last := c.first(), c.last()
	out := summary{
		ID: first.key.String(), Method: first.get(telemetry.AttrMethod), Target: target(first), Shown: c.attribute(telemetry.AttrShown),
		Client: c.attribute(telemetry.AttrClient), Session: c.attribute(telemetry.AttrSession),
		Backend: c.attribute(telemetry.AttrBackend), Version: c.attribute(telemetry.AttrVersion),
		Request: first.get(telemetry.AttrRequestID),
		Start:   first.start.UnixMicro(), Running: last.end.IsZero(),
		Outcome: last.get(telemetry.AttrOutcome), Failed: last.failed || last.get(telemetry.AttrErrorType) != "",
		Rounds: 1,
	}
	end := first.start
	for _, op := range c.ops {
		until := ending(op, now)
		out.Busy += micros(until.Sub(op.start))
		if until.After(end) {
			end = until
		}
		if n, err := strconv.Atoi(op.get(telemetry.AttrRound)); err == nil && n < 1<<16 {
			out.Rounds = max(out.Rounds, n)
		}
		out.Spans += p.size(op, 0)
		_, why := p.before(op)
		out.TakenOver = out.TakenOver || why == telemetry.ReasonTakenOver
	}
	out.Duration = micros(end.Sub(first.start))
	if out.Failed {
		out.Error = cmp.Or(last.message, last.get(telemetry.AttrErrorType))
	}
	return out
}

// maxDepth is the maximum depth of spans below an operation.
const maxDepth = 256

// size returns the number of spans below an operation, including the operation. Later rounds of the
// call are counted separately.
func (p *picture) size(s *span, depth int) int {
	n := 1
	for _, child := range p.children[s.key] {
		if depth < maxDepth && !p.isLaterRound(child) {
			n += p.size(child, depth+1)
		}
	}
	return n
}

// isLaterRound reports whether a span is a later round, rather than a part of a round.
func (p *picture) isLaterRound(s *span) bool {
	if len(s.links) == 0 || !isOperation(s) {
		return false
	}
	before, _ := p.before(s)
	return before != nil
}

// attribute returns an attribute of the latest round that has it.
func (c *call) attribute(name attribute.Key) string {
	for _, op := range slices.Backward(c.ops) {
		if v := op.get(name); v != "" {
			return v
		}
	}
	return ""
}

// target returns the tool, prompt or resource of a request.
func target(s *span) string {
	return cmp.Or(s.get(telemetry.AttrToolName), s.get(telemetry.AttrPromptName), s.get(telemetry.AttrResourceURI))
}

func ending(s *span, now time.Time) time.Time {
	if s.end.IsZero() {
		return now
	}
	return s.end
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func sortByStart(spans []*span) {
	slices.SortStableFunc(spans, func(a, b *span) int { return a.start.Compare(b.start) })
}
