package tasks

import (
	"context"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
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
	v, err := t.find(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	return v.report(), nil
}

// Inspected returns a page of at most most tasks of all principals, in the medium's order, and the
// cursor of the next page. An empty cursor means that there is none. A cursor that was not issued
// fails with state.ErrCursor.
func (t *Tasks) Inspected(ctx context.Context, cursor string, most int) (page []*Report, next string, err error) {
	views, next, err := t.pageOf(ctx, cursor, most)
	if err != nil {
		return nil, "", err
	}
	for _, v := range views {
		page = append(page, v.report())
	}
	return page, next, nil
}

// Revoke cancels a task of any principal for an operator, and returns its state. The task may have
// ended before.
func (t *Tasks) Revoke(ctx context.Context, id string, by mcp.Principal) (*Report, error) {
	v, err := t.find(ctx, id, nil)
	if err == nil && !v.over() {
		v, err = t.end(ctx, nil, id, &v.Principal, &by)
	}
	if err != nil {
		return nil, mediumError(err)
	}
	return v.report(), nil
}

// find reads a task of any principal: see read. The errors are those of the medium.
func (t *Tasks) find(ctx context.Context, id string, see func(*medium.Entry, *entry)) (*view, error) {
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	s, err := t.store.Load(sctx, id, false)
	if err != nil {
		return nil, err
	}
	v, err := t.read(ctx, nil, s.Session, see)
	return v, mediumError(err)
}

// pageOf returns a page of the tasks of all principals for lists, without those that have expired
// since. The errors are those of the medium.
func (t *Tasks) pageOf(ctx context.Context, cursor string, most int) (page []*view, next string, err error) {
	found, next, err := t.store.List(ctx, cursor, most)
	if err != nil {
		return nil, "", err
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	page, err = t.glances(ctx, ids)
	return slices.DeleteFunc(page, func(v *view) bool { return v == nil }), next, mediumError(err)
}

// mediumError converts a client's error to the error of the medium; nil stays nil.
func mediumError(err error) error {
	switch mcp.AsError(err).Kind {
	case mcp.KindInvalidParams:
		return state.ErrNotFound
	case mcp.KindStateUnavailable:
		return state.ErrUnavailable
	}
	return err
}

func (v *view) report() *Report {
	r := &Report{
		ID: v.ID, Tool: v.Tool, Version: v.Version, Principal: v.Principal, Status: v.status, Message: v.Message, Created: v.Created, Updated: v.Updated,
		ToolError: v.ToolError,
	}
	for _, q := range v.asks {
		r.Questions = append(r.Questions, Question{Key: q.Key, Method: q.Method})
	}
	return r
}
