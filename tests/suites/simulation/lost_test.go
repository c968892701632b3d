package simulation

import (
	"slices"
	"time"
)

// lostTasks are the tasks that the store has lost, and who may give them back.
type lostTasks struct {
	// authors are the replicas that wrote each task or claimed it, by its id.
	authors map[string][]*replica
	// at is when the store lost a task last, by its id.
	at map[string]time.Duration
}

// wrote notes that the store has taken a write of a task.
func (r *replica) wrote(task string) {
	if of := r.w.lostTasks.authors; r.w.kind == ofTasks && !slices.Contains(of[task], r) {
		of[task] = append(of[task], r)
	}
}

// rewind has the store lose its last writes.
func (w *world) rewind(writes int) {
	var had []string
	for id := range w.lostTasks.authors {
		if _, _, stored := w.medium.Call(id); stored {
			had = append(had, id)
		}
	}
	w.medium.Rewind(writes)
	for _, id := range had {
		if _, _, stored := w.medium.Call(id); !stored {
			w.lostTasks.at[id] = w.now
		}
	}
}

// left says whether every replica that knew a task which the store has lost had ended, after a drain, before it heard of that.
func (w *world) left(task string) bool {
	at, lost := w.lostTasks.at[task]
	return lost && !slices.ContainsFunc(w.lostTasks.authors[task], func(r *replica) bool { return !r.closed || r.heard > at })
}
