package tasks

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcpedge/mcpedge/edge/state"
)

// recent remembers the tasks that a replica had to do with last, and what was read of them. The zero recent remembers none. Safe for
// concurrent use.
type recent struct {
	most int

	mu sync.Mutex
	// ids, the last one last, and what was read of them.
	ids  []string
	read map[string]*History
}

// note remembers a task as the last one; one that is too many is forgotten.
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

// known is what is remembered, the last one first, and what was read of each; nil: nothing.
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

// keep keeps what was read of a task that is still remembered; nil: it is not there any more, and forgotten.
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

// Recent are the tasks, of at most Options.Recent, that this replica made, ran or was asked about last, that one first, whosever they are. Those
// that have ended are not read again, and one that cannot be read now is as it was read last.
func (t *Tasks) Recent(ctx context.Context) []*History {
	ids, out := t.recent.known()
	together(len(ids), func(i int) {
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
