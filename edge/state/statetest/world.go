package statetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// patience is how long a condition may take to come true.
const patience = 10 * time.Second

// world is two replicas on one medium.
type world struct {
	*testing.T
	m    Medium
	a, b state.Store
}

// must fails the test at once after an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// want fails the test unless err is of the kind.
func (w *world) want(kind, err error) {
	w.Helper()
	if !errors.Is(err, kind) {
		w.Fatalf("got error %v, want %v", err, kind)
	}
}

// session makes a session through a replica.
func (w *world) session(s state.Store, id string) *state.Session {
	w.Helper()
	rec := record(id)
	w.must(s.Create(w.Context(), rec))
	return rec
}

func record(id string) *state.Session {
	return &state.Session{
		ID: id, Version: "some version",
		Principal:    mcp.Principal{Subject: "alice", Issuer: "https://issuer.example", Scopes: []string{"x"}},
		ClientInfo:   json.RawMessage(`{"name":"c","version":"1"}`),
		Capabilities: json.RawMessage(`{"elicitation":{}}`),
		LogLevel:     mcp.LogInfo, Initialized: true, Subscriptions: []string{"file:///1"},
		Digest: mcp.Digest{Tools: 1<<64 - 1, Resources: 2, Prompts: 3}, Attachment: 4, Serial: 5,
		Created: time.Unix(1_700_000_000, 123_456_789),
	}
}

// callOf is the call that tests begin: its request id is its id in quotes.
func callOf(id string) state.Call {
	return state.Call{
		ID: id, RequestID: `"` + id + `"`, Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"t"}`),
		LogLevel: mcp.LogInfo, Deadline: time.Now().Add(time.Hour), Repeatable: true, Round: 1, Attempt: 1,
		Trace: traceOf(id), Began: time.Unix(1_700_000_000, 987_654_321),
	}
}

// traceOf is the trace of the call that tests begin.
func traceOf(id string) string { return "trace of " + id }

// begin begins calls on one stream and returns their writers.
func (w *world) begin(s state.Store, session, stream string, ids ...string) []*writer {
	w.Helper()
	var calls []state.Call
	for _, id := range ids {
		calls = append(calls, callOf(id))
	}
	leases, err := s.Begin(w.Context(), session, stream, calls)
	w.must(err)
	if len(leases) != len(ids) {
		w.Fatalf("%d leases for %d calls", len(leases), len(ids))
	}
	var out []*writer
	for i, l := range leases {
		if want := (state.Lease{Session: session, Stream: stream, Call: ids[i], Epoch: state.FirstEpoch}); l != want { // #nosec G602 -- there are as many, as was checked
			w.Fatalf("lease %+v, want %+v", l, want)
		}
		out = append(out, w.under(s, l))
	}
	return out
}

// writer writes under one lease.
type writer struct {
	w *world
	s state.Store
	state.Lease
	n uint64
}

func (w *world) under(s state.Store, l state.Lease) *writer { return &writer{w: w, s: s, Lease: l} }

func (r *writer) next() state.Write {
	r.n++
	return state.Write{Lease: r.Lease, N: r.n}
}

// same is the last write again.
func (r *writer) same() state.Write { return state.Write{Lease: r.Lease, N: r.n} }

func (r *writer) append(entries ...state.Entry) {
	r.w.Helper()
	r.w.must(r.s.Append(r.w.Context(), r.next(), entries...))
}

func (r *writer) park(asks ...string) {
	r.w.Helper()
	r.w.must(r.s.Park(r.w.Context(), r.next(), asksOf(asks...), []byte("state")))
}

func (r *writer) finish() {
	r.w.Helper()
	r.w.must(r.s.Finish(r.w.Context(), r.next(), response(r.Call)))
}

// which is the call at the writer's epoch.
func (r *writer) which() state.Which {
	return state.Which{Session: r.Session, Call: r.Call, Epoch: r.Epoch}
}

// request is the call by its client's request id.
func (r *writer) request() state.Which {
	return state.Which{Session: r.Session, RequestID: `"` + r.Call + `"`}
}

// claim takes a call over for a replica.
func (w *world) claim(s state.Store, which state.Which) (*state.Claim, *writer) {
	w.Helper()
	c, err := s.Claim(w.Context(), which)
	w.must(err)
	return c, w.under(s, c.Lease)
}

func asksOf(ids ...string) []state.Ask {
	var out []state.Ask
	for _, id := range ids {
		out = append(out, state.Ask{
			ID: id, Key: "key-" + id, Method: mcp.MethodElicit,
			Message: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":"elicitation/create"}`, id),
			Asked:   time.Unix(1_700_000_001, 5),
		})
	}
	return out
}

func answer(text string) state.Answer {
	return state.Answer{Result: json.RawMessage(`{"action":"accept","content":{"x":"` + text + `"}}`)}
}

func response(call string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":{}}`, call)
}

func progress(v float64) state.Entry {
	return state.Entry{Kind: state.EntryProgress, Progress: v, Data: fmt.Appendf(nil, `{"progress":%v}`, v)}
}

func notice(text string) state.Entry {
	return state.Entry{Kind: state.EntryNotice, Data: fmt.Appendf(nil, `{"notice":%q}`, text)}
}

// read pages through a log from a position to its end, and checks order and epochs on the way.
func (w *world) read(s state.Store, session string, after state.Position, page int) ([]state.Entry, state.Page) {
	w.Helper()
	var all []state.Entry
	for {
		p, err := s.Read(w.Context(), session, after, page)
		w.must(err)
		if page > 0 && len(p.Entries) > page {
			w.Fatalf("a page of %d entries, at most %d were asked for", len(p.Entries), page)
		}
		if p.Rewound {
			after.Seq = 0
		}
		for _, e := range p.Entries {
			if e.Seq <= after.Seq {
				w.Fatalf("entry %d after %d", e.Seq, after.Seq)
			}
			after.Seq = e.Seq
		}
		after.Epoch = p.Epoch
		all = append(all, p.Entries...)
		if len(p.Entries) == 0 || p.Ended {
			return all, p
		}
	}
}

// all reads a whole stream as text.
func (w *world) all(s state.Store, session, stream string) ([]string, state.Page) {
	w.Helper()
	entries, last := w.read(s, session, state.Position{Stream: stream}, 0)
	return texts(entries), last
}

func texts(entries []state.Entry) []string {
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, string(e.Data))
	}
	return out
}

// orphan waits until a replica sees the call as an orphan.
func (w *world) orphan(s state.Store, call string) state.Which {
	w.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if o, ok := w.isOrphan(s, call); ok {
			return o
		}
		if time.Now().After(end) {
			w.Fatalf("call %s is no orphan after %v", call, patience)
		}
	}
}

func (w *world) isOrphan(s state.Store, call string) (state.Which, bool) {
	w.Helper()
	list, err := s.Orphans(w.Context(), 1000, nil)
	w.must(err)
	for _, o := range list {
		if o.Call == call {
			return o, true
		}
	}
	return state.Which{}, false
}

// equate compares the types whose values have no exported fields.
var equate = cmpopts.EquateComparable(netip.Addr{})
