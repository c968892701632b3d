package tasks

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// maxPage bounds the tasks in a page. Each of them is read. maxLoads bounds the concurrent reads.
	maxPage, maxLoads = 100, 16
	// listTimeout bounds the time to read a page.
	listTimeout = 10 * time.Second
)

// list serves tasks/list of 2025-11-25 (Tasks, "Listing Tasks"). It lists the tasks of the caller's
// principal that the caller created or whose tools it may use, of either era and any session
// of the set, newest first.
func (t *Tasks) list(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	after, err := parseCursor(c.Params.More().Cursor, c.Set, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	sctx, done := state.Bounded(ctx)
	ids, err := t.store.Of(sctx, c.Principal) // Some may have expired recently.
	done()
	if err != nil {
		return mcp.Reply{}, t.storeError("", err)
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	if after != "" { // the last task of the previous page, or what precedes the next one
		ids = slices.DeleteFunc(ids, func(id string) bool { return id >= after })
	}
	var views []*view
	last, left := after, &allowances{holder: c.Memory.Holder()}
	for spent := false; len(views) == 0 && len(ids) > 0 && !spent; {
		page := ids[:min(len(ids), t.o.PageSize)]
		n := 0
		if views, n, err = t.loadAll(ctx, rules, c, page, left); err != nil {
			return mcp.Reply{}, err
		}
		if n > 0 {
			last = page[n-1]
		}
		ids, spent = ids[n:], n < len(page)
	}
	dst := []byte(`{"tasks":[`)
	for i, v := range views {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(t.appendTask(append(dst, '{'), rules, v), '}')
	}
	dst = append(dst, ']')
	if len(ids) > 0 {
		dst = append(append(append(dst, `,"nextCursor":"`...), cursorAfter(between(last, ids[0]), c.Set, &c.Principal)...), '"')
	}
	return mcp.Reply{Result: append(dst, '}')}, nil
}

// readConcurrently calls read for each of n tasks, at most maxLoads at a time. When all calls have
// returned, it returns the first error.
func readConcurrently(n int, read func(i int) error) error {
	var all errgroup.Group
	all.SetLimit(maxLoads)
	for i := range n {
		all.Go(func() error { return read(i) })
	}
	return all.Wait()
}

// loadAll reads the first n tasks of a page, as far as the caller may see them, without those that
// have expired since. n is less than the page's length if the allowances are spent.
func (t *Tasks) loadAll(ctx context.Context, rules *revision.Rules, c *mcp.Call, page []string, left *allowances) (views []*view, n int, err error) {
	views, err = t.glances(ctx, page)
	if ctx.Err() != nil {
		return nil, 0, mcp.Errorf(mcp.KindTimeout, "the tasks could not be read in time: list again")
	}
	if err != nil {
		return nil, 0, err
	}
	who, parts := &c.Principal, make([]allowance, len(page))
	for i := range parts {
		parts[i].all, parts[i].first = left, i == 0 && !left.begun
	}
	left.begun = true
	_ = readConcurrently(len(page), func(i int) error {
		v := views[i]
		views[i] = nil
		if v != nil && v.Set == c.Set && v.Principal.Is(who) {
			what := useQuiet
			what.within = &parts[i]
			views[i], _ = t.visible(ctx, rules, c, v, what)
		}
		return nil
	})
	for n < len(parts) && parts[n].err == nil {
		n++
	}
	if n == 0 && parts[0].first {
		return nil, 0, parts[0].err
	}
	return slices.DeleteFunc(views[:n], func(v *view) bool { return v == nil }), n, nil
}
