package tasks

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Report is a task for operators: its principal and its state, without arguments, answers and
// results.
type Report struct {
	ID, Tool string
	// Version is the revision of the request that made the task.
	Version   string
	Principal mcp.Principal
	Status    Status
	// Message is the last status message of the backend, or why the task failed.
	Message string
	// ToolError is true if the task is completed with a result that has isError.
	ToolError        bool
	Created, Updated time.Time
	// Questions are the unanswered questions.
	Questions []Question
}

// Question is a question of a task to its client.
type Question struct {
	Key    string
	Method mcp.Method
}

// Inspect returns a task of any principal, for an operator. The errors are those of the medium:
// state.ErrNotFound, state.ErrUnavailable.
func (t *Tasks) Inspect(ctx context.Context, id string) (*Report, error) {
	s, err := t.store.Load(ctx, id, false)
	if err != nil {
		return nil, err
	}
	return t.report(ctx, s.Session)
}

// Inspected returns a page of at most most tasks of all principals, in the medium's order, and the
// cursor of the next page. An empty cursor means that there is none. A cursor that was not issued
// fails with state.ErrCursor.
func (t *Tasks) Inspected(ctx context.Context, cursor string, most int) (page []*Report, next string, err error) {
	found, next, err := t.store.List(ctx, cursor, most)
	if err != nil {
		return nil, "", err
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	views, err := t.glances(ctx, ids)
	if err != nil {
		return nil, "", mediumError(err)
	}
	for i, v := range views {
		if v != nil { // otherwise the task has expired since
			page = append(page, v.report(found[i].Principal))
		}
	}
	return page, next, nil
}

// Revoke cancels a task of any principal for an operator, and returns its state. The task may have
// ended before.
func (t *Tasks) Revoke(ctx context.Context, id string, by mcp.Principal) (*Report, error) {
	s, err := t.store.Load(ctx, id, false)
	if err != nil {
		return nil, err
	}
	v, err := t.view(ctx, s.Session)
	if err == nil && !v.over() {
		v, err = t.end(ctx, nil, id, &s.Principal, &by)
	}
	if err != nil {
		return nil, mediumError(err)
	}
	return v.report(s.Principal), nil
}

func (t *Tasks) report(ctx context.Context, s *state.Session) (*Report, error) {
	v, err := t.view(ctx, s)
	if err != nil {
		return nil, mediumError(err)
	}
	return v.report(s.Principal), nil
}

// mediumError converts a client's error to the error of the medium.
func mediumError(err error) error {
	switch mcp.AsError(err).Kind {
	case mcp.KindInvalidParams:
		return state.ErrNotFound
	case mcp.KindStateUnavailable:
		return state.ErrUnavailable
	}
	return err
}

func (v *view) report(who mcp.Principal) *Report {
	r := &Report{
		ID: v.id, Tool: v.tool, Version: v.version, Principal: who, Status: v.status, Message: v.message, Created: v.created, Updated: v.updated,
		ToolError: v.end != nil && v.end.ToolError,
	}
	for _, q := range v.asks {
		r.Questions = append(r.Questions, Question{Key: q.Key, Method: q.Method})
	}
	return r
}
