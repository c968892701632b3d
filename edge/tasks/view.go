package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Status is how a task is. Its text is that of the wire, in both eras.
type Status string

// The states of a task. Those from Completed on are final.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// view is a task at one moment, as its session, its log and its record say.
type view struct {
	id     string
	status Status
	// creator made it, with the rights of then.
	creator *mcp.Principal
	// tool is what was called, by its name and with its arguments, and backend served it then. args is nil where there were none.
	tool, backend string
	args          json.RawMessage
	// arguments is the size of args in bytes, also where they were not read.
	arguments int
	// version is the revision under which the result was rendered.
	version          string
	message          string
	created, updated time.Time
	// keep is until when the client wants to have the task; zero: it does not say, or would have it for longer anyway.
	keep time.Time
	poll time.Duration
	// token is the client's progress token, progress and total the last of the backend's progress, that message tells of; nil: none.
	token, progress, total json.RawMessage
	// asks are the questions that wait for an answer.
	asks []entry
	// end is how it ended; nil: it goes on.
	end *entry
	// partial: it was made of a brief, without results, arguments and the params of questions.
	partial bool
	// trace is the span of the request that made it, as a W3C traceparent; empty: none.
	trace string
}

func (v *view) over() bool { return v.end != nil }

// unknown is the error about a task that does not exist for the caller.
func unknown(id string) *mcp.Error {
	return mcp.Errorf(mcp.KindInvalidParams, "there is no task %.64q: its id is wrong, or it has expired", id)
}

// load reads a task of a principal's. It charges memory with what is read, in place of what was charged for a task before.
func (t *Tasks) load(ctx context.Context, memory *budget.Reservation, id string, who *mcp.Principal) (*view, error) {
	memory.Settle(budget.Results, 0)
	s, err := t.sessionOf(ctx, id, who)
	if err != nil {
		return nil, err
	}
	return t.read(ctx, memory, s, func(*medium.Entry, *entry) {})
}

// sessionOf is the session of a task of a principal's.
func (t *Tasks) sessionOf(ctx context.Context, id string, who *mcp.Principal) (*state.Session, error) {
	if id == "" || len(id) > maxID {
		return nil, unknown(id)
	}
	sctx, cancel := bounded(ctx)
	defer cancel()
	s, err := t.store.Load(sctx, id, false)
	if err != nil {
		return nil, t.storeError(id, err)
	}
	if !s.Principal.Is(who) {
		return nil, unknown(id)
	}
	return s.Session, nil
}

// storeError tells a client what the store said about a task.
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

// view reads the task of a session and charges nobody.
func (t *Tasks) view(ctx context.Context, s *state.Session) (*view, error) {
	return t.read(ctx, nil, s, func(*medium.Entry, *entry) {})
}

// read reads the task of a session, and gives each entry of its log to see, in their order. It charges memory, unless that is nil.
func (t *Tasks) read(ctx context.Context, memory *budget.Reservation, s *state.Session, see func(*medium.Entry, *entry)) (*view, error) {
	v := &view{id: s.ID, creator: &s.Principal, status: Working, version: s.Version, created: s.Created, updated: s.Created, keep: s.Keep}
	var asked []entry
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
			see(x, &e)
			if x.Kind == state.EntryRequest {
				asked = append(asked, e)
			}
			v.take(x.Kind, &e)
		}
		v.trace = page.Trace
		more = page.More && len(page.Entries) > 0
		if page.Ended && !more && v.end == nil {
			v.end = &entry{At: v.updated, Cancelled: true} // It ended with nothing to tell.
		}
	}
	if v.end == nil {
		return v, t.waits(ctx, v, asked)
	}
	switch {
	case v.end.Cancelled:
		v.status = Cancelled
	case v.end.Failure != nil:
		v.status, v.message = Failed, v.end.Failure.Message
	default:
		v.status = Completed
		if text := v.end.complaint(); text != "" {
			v.message = text
		}
	}
	return v, nil
}

const (
	// smallPage is part of what a request is charged with, in bytes.
	smallPage = 64 << 10
	// whileShown is how many times the size of a page is in memory until the client has read it: the page, the entries that are decoded from
	// it, and the response.
	whileShown = 3
)

// page reads a page of a task's log and charges memory with it. Where there is no room for it, it lets go of the page and waits, as for a
// result that is to come, and then reads it again.
func (t *Tasks) page(ctx context.Context, memory *budget.Reservation, id string, after medium.Position) (medium.Page, error) {
	read := func() (medium.Page, int64, error) {
		sctx, cancel := bounded(ctx)
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
		return page, whileShown * n, nil
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

// take is what an entry of its log makes of the task. That a run begins is no change that a client sees.
func (v *view) take(kind state.EntryKind, e *entry) {
	if e.Run == nil {
		v.updated = e.At
	}
	switch kind {
	case state.EntryNotice:
		if e.Tool != "" {
			v.tool, v.backend, v.args, v.arguments, v.poll, v.token = e.Tool, e.Backend, e.Arguments, len(e.Arguments), time.Duration(e.Poll)*time.Millisecond, e.Token
		}
	case state.EntryLog:
		if e.Message != "" {
			v.message, v.progress, v.total = e.Message, e.Progress, e.Total
		}
	case state.EntryResponse:
		v.end = e
	}
}

// waits finds out whether a task that has asked waits for answers, and for which.
func (t *Tasks) waits(ctx context.Context, v *view, asked []entry) error {
	for _, e := range slices.Backward(asked) {
		if roundOf(e.Key) != roundOf(asked[len(asked)-1].Key) {
			break // Those of earlier rounds have their answers.
		}
		sctx, cancel := bounded(ctx)
		rec, err := t.store.Asking(sctx, v.id, e.Key)
		cancel()
		if err != nil {
			return t.storeError(v.id, err)
		}
		if rec == nil {
			continue // It was answered, or the backend runs again.
		}
		for i := range rec.Asked {
			q := &rec.Asked[i]
			n := slices.IndexFunc(asked, func(e entry) bool { return e.Key == q.ID })
			if q.Answer == nil && n >= 0 {
				v.asks = append(v.asks, asked[n])
			}
		}
		v.status = InputRequired
		return nil
	}
	return nil
}

// ttl is how long the task lives from its creation on, as far as is known: it lives for as long as it works or waits, and then for the
// setting, and until its client wants to have it.
func (t *Tasks) ttl(v *view, now time.Time) time.Duration {
	end := now
	if v.over() {
		end = v.updated
	}
	ttl := max(end.Sub(v.created), 0).Truncate(time.Second) + t.o.TTL
	if !v.keep.IsZero() {
		ttl = max(ttl, v.keep.Sub(v.created))
	}
	return ttl
}

// pollOf is how often a client should ask for the task.
func (t *Tasks) pollOf(v *view, now time.Time) time.Duration {
	if v.poll > 0 {
		return v.poll
	}
	const patience = 10 // A task that has run for 10 s is asked for every second, and so on.
	return min(max(now.Sub(v.created)/patience, t.o.Poll), slowest*t.o.Poll).Truncate(time.Millisecond)
}

// rulesOf are those of the revision that the task runs under.
func rulesOf(version string) *revision.Rules {
	if r, ok := revision.ByVersion(version); ok {
		return r
	}
	return revision.Stateless()
}
