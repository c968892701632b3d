package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Status is the state of a task. Its text is that of the protocol, in both eras.
type Status string

// The states of a task. Those from Completed on are final.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// view is a snapshot of a task, from its session, its log and its record. The session's principal is
// the creator, with its rights at that time. Its version is the revision under which the result was
// rendered. Keep is until when the client wants the task to be kept; zero if the client gives no
// time, or one within Options.TTL.
type view struct {
	*state.Session
	brief
	status Status
	// args are the arguments of the call. nil means that there were none.
	args json.RawMessage
	// token is the client's progress token. progress and total are the backend's last progress,
	// which Message contains. Each is nil if there is none.
	token, progress, total json.RawMessage
	// asks are the unanswered questions to the client.
	asks []entry
	// approval is the unanswered question for an approval, which the client does not see. nil means
	// that there is none.
	approval *entry
	// end is the entry with the end; nil if the log has none.
	end *entry
	// partial is true if the view was made from a stored brief, without results, arguments and the
	// params of questions.
	partial bool
	// trace is the span of the request that made the task, as a W3C traceparent; may be empty.
	trace string
}

// viewOf returns the view of a task without its log.
func viewOf(s *state.Session) *view {
	return &view{Session: s, brief: brief{Updated: s.Created}, status: Working}
}

func (v *view) over() bool { return v.Ended != "" }

// unknown returns the error for a task that does not exist for the caller.
func unknown(id string) *mcp.Error {
	return mcp.Errorf(mcp.KindInvalidParams, "there is no task %.64q: its id is wrong, or it has expired", id)
}

// load reads a task of a principal. It charges memory for it, instead of for a previous task.
func (t *Tasks) load(ctx context.Context, memory *budget.Reservation, id string, who *mcp.Principal) (*view, error) {
	memory.Settle(budget.Results, 0)
	if id == "" || len(id) > maxID {
		return nil, unknown(id)
	}
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	s, err := t.store.Load(sctx, id, false)
	if err != nil {
		return nil, t.storeError(id, err)
	}
	if !s.Principal.Is(who) {
		return nil, unknown(id)
	}
	return t.read(ctx, memory, s.Session, nil)
}

// storeError returns the client's error for an error of the store.
func (t *Tasks) storeError(id string, err error) *mcp.Error {
	if errors.Is(err, state.ErrNotFound) {
		return unknown(id)
	}
	if room := (*state.PrincipalRoomError)(nil); errors.As(err, &room) {
		t.o.Telemetry.Hit(telemetry.BoundPrincipalBytes)
		return noRoom(err, room)
	}
	t.counters.StateErrors.Add(1)
	t.o.Logger.Warn("state operation failed", "error", err)
	return unavailable(err)
}

func unavailable(err error) *mcp.Error {
	return &mcp.Error{Kind: mcp.KindStateUnavailable, Err: err, Message: "the state of tasks cannot be reached; try again later"}
}

// read reads the task of a session and calls see, unless it is nil, with each entry of its log, in
// their order. It charges memory; nil disables the charge.
func (t *Tasks) read(ctx context.Context, memory *budget.Reservation, s *state.Session, see func(*medium.Entry, *entry)) (*view, error) {
	v := viewOf(s)
	for after, more := (medium.Position{}), true; more; {
		page, err := t.page(ctx, memory, s.ID, after)
		if err != nil {
			return nil, err
		}
		for i := range page.Entries {
			x := &page.Entries[i]
			after = x.Position()
			var e entry
			if err := json.Unmarshal(x.Data, &e); err != nil {
				return nil, fmt.Errorf("the log of task %s: %w", s.ID, err)
			}
			if see != nil {
				see(x, &e)
			}
			v.take(x.Kind, &e)
		}
		v.trace = page.Trace
		more = page.More && len(page.Entries) > 0
		if page.Ended && !more && !v.over() {
			v.Ended = Cancelled // The task ended without a result.
		}
	}
	var waits []string
	if len(v.Asked) > 0 && !v.over() {
		sctx, cancel := state.Bounded(ctx)
		defer cancel()
		found, err := t.store.Summaries(sctx, []string{s.ID}, stream)
		if err != nil {
			return nil, t.storeError(s.ID, err)
		}
		if found[0] == nil {
			return nil, unknown(s.ID)
		}
		waits = found[0].Waits
	}
	v.settle(waits)
	return v, nil
}

const (
	// smallPage is the size of a page that the charge of a request includes, in bytes.
	smallPage = 64 << 10
	// shownCopies is the memory in use until the client has read a page, as a multiple of the page's
	// size: the page, the entries decoded from it, and the response.
	shownCopies = 3
)

// page reads a page of a task's log and charges memory with it. If the budget has no room for it,
// page drops it, waits for a permit as for a result of unknown size, and reads it again.
func (t *Tasks) page(ctx context.Context, memory *budget.Reservation, id string, after medium.Position) (medium.Page, error) {
	read := func() (medium.Page, int64, error) {
		sctx, cancel := state.Bounded(ctx)
		defer cancel()
		page, err := t.store.Read(sctx, id, stream, after, 0)
		if err != nil {
			return medium.Page{}, 0, t.storeError(id, err)
		}
		n := int64(0)
		for i := range page.Entries {
			n += int64(len(page.Entries[i].Data))
		}
		if n <= smallPage {
			n = 0
		}
		return page, shownCopies * n, nil
	}
	page, n, err := read()
	if err != nil || memory.Try(budget.Results, n) {
		return page, err
	}
	page = medium.Page{}
	permit, err := memory.Holder().Permit(ctx, budget.Results, n, true)
	if err != nil {
		return page, mcp.Overloaded(err)
	}
	defer permit.Release()
	if page, n, err = read(); err == nil {
		memory.Force(budget.Results, n)
	}
	return page, err
}

// take applies an entry of the task's log.
func (v *view) take(kind state.EntryKind, e *entry) {
	v.brief.take(kind, e)
	switch {
	case e.Tool != "":
		v.args, v.token = e.Arguments, e.Token
	case e.Message != "":
		v.progress, v.total = e.Progress, e.Total
	case kind == state.EntryResponse:
		v.end = e
	}
}

// settle sets the status and the unanswered questions, from the keys of the questions to which the
// task waits for answers. A stored brief may lack a question. A log that was read before its task
// asked again lacks it, too; then the question is not shown yet.
func (v *view) settle(waits []string) {
	asked := make(map[string]*entry, len(v.Asked))
	for i := range v.Asked {
		asked[v.Asked[i].Key] = &v.Asked[i]
	}
	for _, key := range waits {
		if e := asked[key]; e != nil {
			v.ask(e)
		} else if v.partial {
			v.ask(&entry{Key: key})
		}
	}
	if v.status = cmp.Or(v.Ended, Working); len(v.asks) > 0 {
		v.status = InputRequired
	}
}

// ask adds an unanswered question to the view. The client does not see a question for an approval:
// the task is working, and its message names the approval.
func (v *view) ask(e *entry) {
	if e.Method != mcp.MethodApprove {
		v.asks = append(v.asks, *e)
		return
	}
	v.approval, v.Message, v.progress, v.total = e, waitsFor(e), nil, nil
}

// ttl returns the known lifetime of the task from its creation: until now or its end, plus
// Options.TTL. It extends at least to the time that its client requested.
func (t *Tasks) ttl(v *view, now time.Time) time.Duration {
	end := now
	if v.over() {
		end = v.Updated
	}
	ttl := max(end.Sub(v.Created), 0).Truncate(time.Second) + t.o.TTL
	if !v.Keep.IsZero() {
		ttl = max(ttl, v.Keep.Sub(v.Created))
	}
	return ttl
}

// pollOf returns the interval at which a client should poll the task.
func (t *Tasks) pollOf(v *view, now time.Time) time.Duration {
	if v.Poll > 0 {
		return time.Duration(v.Poll) * time.Millisecond
	}
	const patience = 10 // A task that has run for 10 s is polled every second, and so on.
	return min(max(now.Sub(v.Created)/patience, t.o.Poll), maxPollFactor*t.o.Poll).Truncate(time.Millisecond)
}

// rulesOf returns the rules of the revision under which the task runs.
func rulesOf(version string) *revision.Rules {
	if r, ok := revision.ByVersion(version); ok {
		return r
	}
	return revision.Stateless()
}
