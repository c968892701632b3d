package tasks

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcpedge/mcpedge/edge/state"
)

// recent holds the most recently used tasks of a replica, and the last history read of each. The
// zero value holds none. Safe for concurrent use.
type recent struct {
	most int

	mu sync.Mutex
	// ids are in the order of use, the most recent one last. read has the last history of each.
	ids  []string
	read map[string]*History
}

// note adds a task as the most recent one, and evicts the oldest one beyond most.
func (r *recent) note(id string) {
	if r.most == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.ids, id); i >= 0 {
		r.ids = slices.Delete(r.ids, i, i+1)
	}
	if r.ids = append(r.ids, id); len(r.ids) > r.most {
		delete(r.read, r.ids[0])
		r.ids = slices.Delete(r.ids, 0, 1)
	}
}

// known returns the kept ids, the most recent one first, and the history of each; nil if it was not
// read.
func (r *recent) known() (ids []string, read []*History) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids = slices.Clone(r.ids)
	slices.Reverse(ids)
	for _, id := range ids {
		read = append(read, r.read[id])
	}
	return ids, read
}

// keep stores the history of a task that is still kept; nil removes a task that no longer exists.
func (r *recent) keep(id string, h *History) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.ids, id)
	switch {
	case i < 0:
	case h == nil:
		r.ids = slices.Delete(r.ids, i, i+1)
		delete(r.read, id)
	default:
		if r.read == nil {
			r.read = map[string]*History{}
		}
		r.read[id] = h
	}
}

// Recent returns at most Options.Recent tasks of all principals that this replica made, ran or got
// requests for, the most recent first. It does not read ended tasks again. For a task that cannot
// be read now, it returns the last known history.
func (t *Tasks) Recent(ctx context.Context) []*History {
	ids, out := t.recent.known()
	readConcurrently(len(ids), func(i int) {
		if h := out[i]; h != nil && h.Over() {
			return
		}
		h, err := t.history(ctx, ids[i])
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return
		}
		t.recent.keep(ids[i], h)
		out[i] = h
	})
	return slices.DeleteFunc(out, func(h *History) bool { return h == nil })
}
