package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// brief is the part of a task that lists show: a small value that is stored beside its log and
// rewritten with each entry. It has at most medium.MaxBrief bytes as JSON: its messages are
// clipped.
type brief struct {
	Tool    string `json:"tool"`
	Backend string `json:"backend,omitempty"`
	// Arguments is the size of the call's arguments, in bytes.
	Arguments int `json:"arguments,omitempty"`
	// Poll is in milliseconds.
	Poll    int64     `json:"poll,omitempty"`
	Message string    `json:"message,omitempty"`
	Updated time.Time `json:"updated"`
	// Asked are the questions of the last round that asked the client. A stored brief has their keys
	// and methods only.
	Asked []entry `json:"asked,omitempty"`
	// Ended is the final status of the task; empty if it has not ended. ToolError is set at its
	// end.
	Ended     Status `json:"ended,omitempty"`
	ToolError bool   `json:"toolError,omitempty"`
}

// briefText bounds the message of a brief, in bytes.
const briefText = 512

// briefOf returns the brief after a step (call.Config).
func briefOf(r *medium.Record, w *medium.Write) []byte {
	var b brief
	if len(r.Brief) > 0 && json.Unmarshal(r.Brief, &b) != nil {
		return noBrief
	}
	if w.Next == medium.NextWaiting {
		b.Asked = nil // A round that runs again asks anew.
	}
	for i := range w.Entries {
		var e entry
		if json.Unmarshal(w.Entries[i].Data, &e) != nil {
			return noBrief
		}
		b.take(w.Entries[i].Kind, &e)
	}
	b.Message = clipText(b.Message, briefText)
	for i := range b.Asked {
		b.Asked[i] = entry{Key: b.Asked[i].Key, Method: b.Asked[i].Method}
	}
	raw, err := json.Marshal(&b)
	if err == nil && len(raw) > medium.MaxBrief { // Lists read the keys of questions from the record, and show no methods.
		b.Asked = nil
		raw, err = json.Marshal(&b)
	}
	if err != nil || len(raw) > medium.MaxBrief {
		return noBrief
	}
	return raw
}

// noBrief is the brief of a task whose brief cannot be made: lists read its log.
var noBrief = []byte("{}")

// take applies an entry of the task's log. The start of a run is not a change for clients.
func (b *brief) take(kind state.EntryKind, e *entry) {
	if e.Run == nil || b.Updated.IsZero() {
		b.Updated = e.At
	}
	switch {
	case kind == state.EntryNotice && e.Tool != "":
		b.Tool, b.Backend, b.Poll, b.Arguments = e.Tool, e.Backend, e.Poll, len(e.Arguments)
	case kind == state.EntryLog && e.Message != "":
		b.Message = e.Message
	case kind == state.EntryRequest:
		if len(b.Asked) > 0 && roundOf(b.Asked[0].Key) != roundOf(e.Key) {
			b.Asked = nil // The questions of earlier rounds are answered.
		}
		b.Asked = append(b.Asked, *e)
	case kind == state.EntryResponse:
		b.Asked, b.Ended, b.ToolError = nil, Completed, e.ToolError
		switch text := e.errorText(); {
		case e.Cancelled:
			b.Ended = Cancelled
		case e.Failure != nil:
			b.Ended, b.Message = Failed, e.Failure.Message
		case text != "":
			b.Message = text
		}
	}
}

// glances reads tasks for a list without their logs; nil for a task that no longer exists. A task
// without a brief is read with its log.
func (t *Tasks) glances(ctx context.Context, ids []string) ([]*view, error) {
	sctx, cancel := state.Bounded(ctx)
	found, err := t.store.Summaries(sctx, ids, stream)
	cancel()
	if err != nil {
		return nil, t.storeError("", err)
	}
	views := make([]*view, len(found))
	err = readConcurrently(len(found), func(i int) (err error) {
		if found[i] == nil {
			return nil
		}
		views[i], err = t.summarized(ctx, found[i])
		if err != nil && mcp.AsError(err).Kind == mcp.KindInvalidParams { // The task has expired since.
			return nil
		}
		return err
	})
	return views, err
}

// summarized returns the view of a task for lists, without result, arguments and params of questions.
func (t *Tasks) summarized(ctx context.Context, g *medium.Summary) (*view, error) {
	s := g.Session
	var b brief
	if len(g.Brief) == 0 || json.Unmarshal(g.Brief, &b) != nil || b.Tool == "" || g.Ended != (b.Ended != "") {
		return t.read(ctx, nil, s, nil)
	}
	v := viewOf(s)
	v.brief, v.partial = b, true
	v.settle(g.Waits)
	return v, nil
}

// argumentsOf returns the arguments of a task's call; nil if there were none. For a partial view it
// reads them from the first entry of the log.
func (t *Tasks) argumentsOf(ctx context.Context, v *view) (json.RawMessage, error) {
	if !v.partial {
		return v.args, nil
	}
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	page, err := t.store.Read(sctx, v.ID, stream, medium.Position{}, 1)
	if err != nil || len(page.Entries) == 0 {
		return nil, t.storeError(v.ID, cmp.Or(err, state.ErrNotFound))
	}
	var e entry
	if err := json.Unmarshal(page.Entries[0].Data, &e); err != nil {
		return nil, mcp.Errorf(mcp.KindInternal, "the log of a task cannot be read: %w", err)
	}
	return e.Arguments, nil
}
