package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
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
	// Asked are the questions of the last round that asked the client.
	Asked []briefAsk `json:"asked,omitempty"`
	// Ended is the final status of the task; empty if it has not ended. ToolError is set at its
	// end.
	Ended     Status `json:"ended,omitempty"`
	ToolError bool   `json:"toolError,omitempty"`
}

type briefAsk struct {
	Key    string     `json:"key"`
	Method mcp.Method `json:"method"`
}

// briefText bounds the message of a brief, in bytes.
const briefText = 512

// briefOf returns the brief after a step (call.Config).
func briefOf(r *medium.Record, w *medium.Write) []byte {
	var b brief
	if len(r.Brief) > 0 && json.Unmarshal(r.Brief, &b) != nil {
		return noBrief
	}
	asked := false
	for i := range w.Entries {
		x := &w.Entries[i]
		var e entry
		if json.Unmarshal(x.Data, &e) != nil {
			return noBrief
		}
		if x.Kind == state.EntryRequest {
			if !asked {
				b.Asked, asked = nil, true
			}
			b.Asked = append(b.Asked, briefAsk{e.Key, e.Method})
		}
		b.take(x.Kind, &e)
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

// take is view.take for a brief.
func (b *brief) take(kind state.EntryKind, e *entry) {
	if e.Run == nil || b.Updated.IsZero() {
		b.Updated = e.At
	}
	switch {
	case kind == state.EntryNotice && e.Tool != "":
		b.Tool, b.Backend, b.Poll, b.Arguments = e.Tool, e.Backend, e.Poll, len(e.Arguments)
	case kind == state.EntryLog && e.Message != "":
		b.Message = clipText(e.Message)
	case kind == state.EntryResponse:
		b.Asked, b.Ended, b.ToolError = nil, Completed, e.ToolError
		switch text := e.errorText(); {
		case e.Cancelled:
			b.Ended = Cancelled
		case e.Failure != nil:
			b.Ended, b.Message = Failed, clipText(e.Failure.Message)
		case text != "":
			b.Message = text
		}
	}
}

func clipText(s string) string {
	if len(s) <= briefText {
		return s
	}
	return strings.ToValidUTF8(s[:briefText], "") + "…"
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
	views, errs := make([]*view, len(found)), make([]error, len(found))
	readConcurrently(len(found), func(i int) {
		if g := found[i]; g != nil {
			views[i], errs[i] = t.summarized(ctx, g)
		}
	})
	for i, err := range errs {
		switch {
		case err == nil:
		case mcp.AsError(err).Kind == mcp.KindInvalidParams: // The task has expired since.
			views[i] = nil
		default:
			return nil, err
		}
	}
	return views, nil
}

// summarized returns the view of a task for lists, without result, arguments and params of questions.
func (t *Tasks) summarized(ctx context.Context, g *medium.Summary) (*view, error) {
	s := g.Session
	var b brief
	if len(g.Brief) == 0 || json.Unmarshal(g.Brief, &b) != nil || b.Tool == "" || g.Ended != (b.Ended != "") {
		return t.view(ctx, s)
	}
	v := &view{
		id: s.ID, creator: &s.Principal, set: s.Set, status: Working, version: s.Version, created: s.Created, updated: b.Updated, keep: s.Keep,
		tool: b.Tool, backend: b.Backend, poll: time.Duration(b.Poll) * time.Millisecond, message: b.Message, partial: true,
		arguments: b.Arguments,
	}
	if g.Ended {
		v.status, v.end = b.Ended, &entry{At: b.Updated, ToolError: b.ToolError, Cancelled: b.Ended == Cancelled}
		return v, nil
	}
	methods := make(map[string]mcp.Method, len(b.Asked))
	for _, q := range b.Asked {
		methods[q.Key] = q.Method
	}
	for _, key := range g.Waits {
		v.ask(&entry{Key: key, Method: methods[key]})
	}
	if len(v.asks) > 0 {
		v.status = InputRequired
	}
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
	page, err := t.store.Read(sctx, v.id, stream, medium.Position{}, 1)
	if err != nil || len(page.Entries) == 0 {
		return nil, t.storeError(v.id, cmp.Or(err, state.ErrNotFound))
	}
	var e entry
	if err := json.Unmarshal(page.Entries[0].Data, &e); err != nil {
		return nil, mcp.Errorf(mcp.KindInternal, "the log of a task cannot be read: %w", err)
	}
	return e.Arguments, nil
}
