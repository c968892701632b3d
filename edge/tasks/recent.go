package tasks

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mcpedge/mcpedge/edge/state"
)

// recent has the most recently used tasks of a replica by their ids, each with its last history that
// was read; that is nil if none was.
type recent = lru.Cache[string, *atomic.Pointer[History]]

// noteRecent makes a task the most recent one.
func (t *Tasks) noteRecent(id string) {
	if t.recent == nil {
		return
	}
	if _, known := t.recent.Get(id); !known {
		t.recent.Add(id, new(atomic.Pointer[History]))
	}
}

// Recent returns at most Options.Recent tasks of all principals that this replica made, ran or got
// requests for, the most recent first. It does not read ended tasks again. For a task that cannot
// be read now, it returns the last known history.
func (t *Tasks) Recent(ctx context.Context) []*History {
	if t.recent == nil {
		return nil
	}
	ids := t.recent.Keys()
	slices.Reverse(ids)
	out := make([]*History, len(ids))
	_ = readConcurrently(len(ids), func(i int) error {
		last, known := t.recent.Peek(ids[i])
		if !known {
			return nil
		}
		if out[i] = last.Load(); out[i] != nil && out[i].Over() {
			return nil
		}
		switch h, err := t.history(ctx, ids[i]); {
		case err == nil:
			last.Store(h)
			out[i] = h
		case errors.Is(err, state.ErrNotFound):
			t.recent.Remove(ids[i])
			out[i] = nil
		}
		return nil
	})
	return slices.DeleteFunc(out, func(h *History) bool { return h == nil })
}
