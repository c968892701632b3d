package dev

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// waterfall is one call with its spans in the order of display: the client's spans above the first
// round, then each round with the spans below it.
type waterfall struct {
	Call  summary `json:"call"`
	Spans []row   `json:"spans"`
	// More is the number of spans that are not shown because there are too many.
	More int `json:"more,omitempty"`
}

// row is one span. Start is in microseconds from the beginning of the call; it is negative for
// earlier spans.
type row struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Role is the part of the system that the span belongs to: "client", "edge", "grpc" (the
	// connection to a backend), "backend" or "state".
	Role string `json:"role"`
	// Service is the name of the process, or of the backend if that runs inside the edge.
	Service  string  `json:"service,omitempty"`
	Scope    string  `json:"scope,omitempty"`
	Depth    int     `json:"depth"`
	Start    float64 `json:"start"`
	Duration float64 `json:"duration"`
	Running  bool    `json:"running,omitempty"`
	Failed   bool    `json:"failed,omitempty"`
	Message  string  `json:"message,omitempty"`
	// Round is the number of the round that begins here. 0 means none. Reason is why it begins.
	Round  int    `json:"round,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Wait marks the time during which the client answers: a row without a span, or the span of the
	// request to it.
	Wait       bool       `json:"wait,omitempty"`
	Attributes [][]string `json:"attributes,omitempty"`
	Events     []rowEvent `json:"events,omitempty"`
	Links      []rowLink  `json:"links,omitempty"`
}

type rowEvent struct {
	Name       string     `json:"name"`
	At         float64    `json:"at"`
	Attributes [][]string `json:"attributes,omitempty"`
}

type rowLink struct {
	Reason string `json:"reason,omitempty"`
	// Span is the id of the linked span, Name its name if it is stored.
	Span       string     `json:"span"`
	Name       string     `json:"name,omitempty"`
	Attributes [][]string `json:"attributes,omitempty"`
}

// maxRows is the maximum number of rows.
const maxRows = 2000

// rowBuilder builds the rows of one call.
type rowBuilder struct {
	*picture
	call *call
	now  time.Time
	zero time.Time
	out  waterfall
	seen map[key]bool
	// rounds are the operations of the call, which are rows of the top level.
	rounds map[key]int
}

func (p *picture) waterfall(c *call, now time.Time) waterfall {
	w := rowBuilder{
		picture: p, call: c, now: now, zero: c.first().start, seen: map[key]bool{}, rounds: map[key]int{},
		out: waterfall{Call: p.summary(c, now), Spans: []row{}},
	}
	for i, op := range c.ops {
		w.rounds[op.key] = i + 1
	}
	base := 0
	for _, s := range w.above(c.first()) {
		w.add(s, base, roleClient)
		base++
	}
	for i, op := range c.ops {
		if i > 0 {
			w.wait(c.ops[i-1], op, base)
		}
		w.tree(op, base, roleEdge)
	}
	w.related(base)
	return w.out
}

// above returns the spans above the first round, outermost first: the client's, if it exports them.
func (w *rowBuilder) above(s *span) (out []*span) {
	for range maxParts {
		parent := w.spans[key{s.key.trace, s.parent}]
		if !s.parent.IsValid() || parent == nil || w.seen[parent.key] {
			break
		}
		w.seen[parent.key] = true
		out = append([]*span{parent}, out...)
		s = parent
	}
	for _, s := range out {
		delete(w.seen, s.key)
	}
	return out
}

// tree adds a span and the spans below it, without the call's other rounds.
func (w *rowBuilder) tree(s *span, depth int, above string) {
	if w.seen[s.key] || depth > maxDepth {
		return
	}
	role := roleOf(s, above)
	w.add(s, depth, role)
	for _, child := range w.children[s.key] {
		if w.rounds[child.key] == 0 {
			w.tree(child, depth+1, role)
		}
	}
}

// The roles.
const (
	roleClient  = "client"
	roleEdge    = "edge"
	roleGRPC    = "grpc"
	roleBackend = "backend"
	roleState   = "state"
)

// roleOf returns the role of a span, which depends on that of the span above it.
func roleOf(s *span, above string) string {
	switch {
	case asksClient(s):
		return roleClient
	case s.scope == telemetry.Scope && s.get(telemetry.AttrSystem) != "":
		return roleState
	case s.scope == telemetry.Scope:
		return roleEdge
	case above == roleBackend || s.kind == trace.SpanKindServer:
		return roleBackend
	case s.kind == trace.SpanKindClient:
		return roleGRPC
	}
	return above
}

// related adds operations that are linked to the call but not part of it, such as a resumed stream.
func (w *rowBuilder) related(depth int) {
	mine := map[key]bool{}
	for k := range w.seen {
		mine[k] = true
	}
	var more []*span
	for _, s := range w.spans {
		if w.seen[s.key] || isOperation(s) {
			continue
		}
		for i := range s.links {
			if mine[s.links[i].to] && get(s.links[i].attrs, telemetry.AttrReason) != "" {
				more = append(more, s)
				break
			}
		}
	}
	sortByStart(more)
	for _, s := range more {
		w.tree(s, depth, roleEdge)
	}
}

// wait adds the time between two rounds in which the client answers, unless a span shows it.
func (w *rowBuilder) wait(before, after *span, depth int) {
	if before.get(telemetry.AttrOutcome) != "input_required" || before.end.IsZero() || !after.start.After(before.end) {
		return
	}
	for _, child := range w.children[before.key] {
		if asksClient(child) {
			return
		}
	}
	w.out.Spans = append(w.out.Spans, row{
		Name: "the client answers", Kind: "wait", Role: roleClient, Depth: depth, Wait: true,
		Start: w.at(before.end), Duration: micros(after.start.Sub(before.end)),
	})
}

// asksClient reports whether a span is a request that the edge sent to the client.
func asksClient(s *span) bool {
	return s.kind == trace.SpanKindClient && s.scope == telemetry.Scope && s.get(telemetry.AttrMethod) != ""
}

func (w *rowBuilder) at(t time.Time) float64 { return micros(t.Sub(w.zero)) }

func (w *rowBuilder) add(s *span, depth int, role string) {
	w.seen[s.key] = true
	if len(w.out.Spans) >= maxRows {
		w.out.More++
		return
	}
	r := row{
		ID: s.key.String(), Name: s.name, Kind: s.kind.String(), Role: role, Service: s.service, Scope: s.scope, Depth: depth,
		Start: w.at(s.start), Duration: micros(ending(s, w.now).Sub(s.start)), Running: s.end.IsZero(),
		Failed: s.failed, Message: s.message, Wait: asksClient(s), Attributes: pairs(s.attrs),
	}
	if n := w.rounds[s.key]; n > 0 && len(w.call.ops) > 1 {
		_, why := w.before(s)
		r.Round, r.Reason = n, string(why)
	}
	if role == roleBackend && s.service == w.call.first().service && w.out.Call.Backend != "" {
		r.Service = w.out.Call.Backend
	}
	for i := range s.events {
		e := &s.events[i]
		r.Events = append(r.Events, rowEvent{e.name, w.at(e.at), pairs(e.attrs)})
	}
	for i := range s.links {
		l := &s.links[i]
		out := rowLink{Reason: get(l.attrs, telemetry.AttrReason), Span: l.to.String(), Attributes: pairs(l.attrs)}
		if to := w.spans[l.to]; to != nil {
			out.Name = to.name
		}
		r.Links = append(r.Links, out)
		if r.Reason == "" && w.rounds[s.key] == 0 && out.Reason != string(telemetry.ReasonHTTP) {
			r.Reason = out.Reason
		}
	}
	w.out.Spans = append(w.out.Spans, r)
}

func pairs(attrs []attr) (out [][]string) {
	for i := range attrs {
		out = append(out, []string{attrs[i].key, attrs[i].value})
	}
	return out
}
