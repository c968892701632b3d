package runtime

import (
	"cmp"
	"context"
	"encoding/binary"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

const (
	// minRetry is the minimum pause before a round that a backend asked to repeat.
	minRetry = 100 * time.Millisecond
	// SmallParams is the size of params up to which the request's charge covers them.
	SmallParams = 8 << 10
)

// Rounds are the rounds of one call that this replica runs: from its request, the answer that
// completed its questions, or a takeover, to its response or its next questions. A Runner embeds
// them; together they are the mcp.Sink of the backend: the Runner emits, Rounds bind and
// checkpoint. Init comes before all other methods.
type Rounds struct {
	// Rules are those of the request's revision.
	Rules *revision.Rules
	// First is the first round that runs here, which Next completes. Later rounds are made from it,
	// without the values that belong only to its request.
	First mcp.Call
	// Context provides the values of the contexts of the rounds.
	Context context.Context
	// Served is the backend to which the call was resolved. It is empty in a claimed call, whose
	// record has it.
	Served string
	// Repeatable is true if the call may run again after its response was lost.
	Repeatable bool
	// Asked counts the rounds before the current one that asked the client.
	Asked int
	// Before is the span of the last round that asked. Zero means that there is none.
	Before trace.SpanContext
	// Memory is the memory of the call and its response while it has users: the Runner until Done,
	// a round, and callers of Hold.
	Memory budget.Reservation

	users  atomic.Int32
	r      *Replica
	events *Driver
	// ran is true if there was a round.
	ran bool
	// backend is the backend to which the call is bound; empty means that there is none yet.
	// Guarded by binding: the machine may read it while a round runs.
	backend string
	binding sync.Mutex
}

// Dispatcher runs the rounds of requests.
type Dispatcher interface {
	// Call runs one round.
	Call(ctx context.Context, rules *revision.Rules, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error)
}

var (
	_ mcp.Binder       = (*Rounds)(nil)
	_ mcp.Checkpointer = (*Rounds)(nil)
)

// Init begins the charge of the call to a holder.
func (x *Rounds) Init(r *Replica, h *budget.Holder) {
	x.r, x.Memory = r, h.Begin()
	x.users.Store(1)
}

// Charge charges params of n bytes with the given number of copies, unless they are small.
func (x *Rounds) Charge(n, copies int) error {
	if n <= SmallParams {
		return nil
	}
	if err := x.Memory.Grow(budget.Calls, int64(copies)*int64(n)); err != nil {
		return mcp.Overloaded(err)
	}
	return nil
}

// Hold keeps the memory charged until Release is called once more.
func (x *Rounds) Hold() { x.users.Add(1) }

// Release ends one use of the memory.
func (x *Rounds) Release() {
	if x.users.Add(-1) == 0 {
		x.Memory.Release()
	}
}

// Bind implements mcp.Binder.
func (x *Rounds) Bind(backend string) {
	x.binding.Lock()
	defer x.binding.Unlock()
	x.backend = backend
}

// Settle binds the call to the backend to which it was resolved, unless it is already bound.
func (x *Rounds) Settle() {
	x.binding.Lock()
	defer x.binding.Unlock()
	x.backend = cmp.Or(x.backend, x.First.Backend, x.Served)
}

// Bound returns the backend to which the call is bound; empty means that there is none yet.
func (x *Rounds) Bound() string {
	x.binding.Lock()
	defer x.binding.Unlock()
	return cmp.Or(x.backend, x.First.Backend)
}

// Checkpoint implements mcp.Checkpointer.
func (x *Rounds) Checkpoint(own []byte) { x.events.Checkpoint(keptState(x.Asked, x.Before, own)) }

// Send writes an entry to the call's log. An error means that this replica no longer owns the call.
func (x *Rounds) Send(ctx context.Context, e *state.Entry) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	x.events.Emit(e)
	return nil
}

// Fill sets the fields of a new record that do not depend on the holder of the call.
func (x *Rounds) Fill(r *medium.Record) {
	r.Method, r.Via, r.Principal, r.Repeatable = x.First.Method, x.First.Params.Via(), x.First.Principal, x.Repeatable
	r.Shown, r.Added = x.First.Params.Shown(), x.First.Params.Added()
	r.Backend = cmp.Or(x.Bound(), x.Served)
}

// Next returns the call to the backend in a round whose events go to a machine. kept is true if the
// round has the state of an earlier one.
func (x *Rounds) Next(round *medium.Record, events *Driver) (m *mcp.Call, kept bool) {
	m = &x.First
	if x.ran {
		next := x.First
		m = &next
	}
	x.events, x.ran = events, true
	asked, _, own, kept := OpenState(round.State)
	if x.Asked = max(m.Round, 1) - 1; kept {
		x.Asked, m.State, m.Responses = asked, own, nil
	}
	m.Round, m.Attempt = x.Asked+1, max(round.Attempt, 1)
	m.Begun = m.Begun || round.Round > 1 || m.Attempt > 1
	x.binding.Lock() // The machine may read First.Backend.
	m.Backend, m.Memory = cmp.Or(x.backend, x.First.Backend), &x.Memory
	x.binding.Unlock()
	m.Responses = m.Responses[:len(m.Responses):len(m.Responses)]
	for i := range round.Asked {
		if q := &round.Asked[i]; q.Answer != nil && !q.Answer.Withdrawn {
			a, _ := Response(q)
			m.Responses = append(m.Responses, a)
		}
	}
	return m, kept
}

// Call calls the backend in the round m. A panic in it ends only this call.
func (x *Rounds) Call(ctx context.Context, d Dispatcher, m *mcp.Call, sink mcp.Sink) (reply mcp.Reply, err error) {
	defer x.Recover(ctx, m.Method, &err)
	defer func() { m.HTTP, m.Header, m.Target = mcp.HTTP{}, nil, nil }() // These belong to the round only.
	return d.Call(ctx, x.Rules, m, sink)
}

// Recover turns a panic into an error. It is deferred.
func (x *Rounds) Recover(ctx context.Context, m mcp.Method, err *error) {
	if p := recover(); p != nil {
		x.r.o.Log.ErrorContext(ctx, "a call panicked", "panic", p, "method", m, "stack", string(debug.Stack()))
		*err = mcp.Errorf(mcp.KindInternal, "internal error")
	}
}

// CheckRounds returns the error that ends a call which asks in more rounds than Options.MaxRounds, or
// nil.
func (x *Rounds) CheckRounds(in *mcp.InputRequired) error {
	err := in.CheckRounds(x.Asked, x.r.o.MaxRounds)
	if err != nil {
		x.r.o.Telemetry.Hit(telemetry.BoundRounds)
	}
	return err
}

// Repeat returns the reply of a round after which another one needs no answer of the client.
func (x *Rounds) Repeat(in *mcp.InputRequired) *call.Reply {
	return &call.Reply{
		Kind: call.Busy, Pause: max(in.RetryAfter, minRetry), Resumable: in.Repeatable, State: keptState(x.Asked, x.Before, in.State),
	}
}

// Ask returns the reply of a round that asks the client. span is the round's span.
func (x *Rounds) Ask(in *mcp.InputRequired, span trace.SpanContext, asks []state.Ask) *call.Reply {
	return &call.Reply{Kind: call.Asks, Asks: asks, Resumable: in.Repeatable, State: keptState(x.Asked+1, span, in.State)}
}

// Response converts an answer for the backend. It returns false if the client refused a required
// answer: an elicitation may be cancelled, sampling and roots may not.
func Response(q *medium.Question) (mcp.InputResponse, bool) {
	r := mcp.InputResponse{Key: q.Key, Method: q.Method, Result: q.Answer.Result}
	if q.Answer.Error == nil {
		return r, true
	}
	if q.Method != mcp.MethodElicit {
		return r, false
	}
	r.Result = []byte(`{"action":"cancel"}`)
	return r, true
}

// keptState returns the state of a round in the record. It begins with the number of rounds that
// asked the client and the span of the last one, if there is one, before the backend's own state.
// OpenState reads it.
func keptState(asked int, round trace.SpanContext, own []byte) []byte {
	span := telemetry.FormatParent(round)
	b := binary.AppendUvarint(make([]byte, 0, len(own)+len(span)+4), uint64(asked)) // #nosec G115 -- a count is not negative
	b = binary.AppendUvarint(b, uint64(len(span)))
	return append(append(b, span...), own...)
}

// OpenState reads the state of a round in the record: the number of rounds that asked the client,
// the span of the last one, and the backend's own state, which is nil if it is empty. kept is false
// if no round has left a state.
func OpenState(state []byte) (asked int, round trace.SpanContext, own []byte, kept bool) {
	n, size := binary.Uvarint(state)
	if size <= 0 {
		return 0, round, nil, false
	}
	state = state[size:]
	length, size := binary.Uvarint(state)
	if size <= 0 || length > uint64(len(state)-size) { // #nosec G115 -- size is at most the length
		return int(n), round, nil, true // #nosec G115 -- keptState wrote it, from an int
	}
	round = telemetry.ParseParent(string(state[size : size+int(length)])) // #nosec G115 -- compared with the length above
	if own = state[size+int(length):]; len(own) == 0 {                    // #nosec G115 -- compared with the length above
		own = nil
	}
	return int(n), round, own, true // #nosec G115 -- keptState wrote it, from an int
}
