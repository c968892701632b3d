package simulation

import "bytes"

// jobs is what a backend keeps for a task between two rounds, and what the edge has it cancel.
type jobs struct {
	// running are the rounds that the backend runs. kept is the state of the last round that has ended; empty if it was the last.
	running int
	kept    string
	// due is the state that was kept when the task was cancelled between two rounds. begun says that a round has begun since.
	due   string
	begun bool
	// cancelled are the states with which the backend was asked to cancel.
	cancelled []string
	// claimed is the replica that has claimed the record of the cancelled task; nil: none has.
	claimed *replica
}

// cancelling notes that the client cancels the task. The owner alone knows a state that is not stored, and may lose the task with it.
func (k *taskClient) cancelling() {
	rec, _, _ := k.w.medium.Call(k.task)
	if b := &k.jobs; b.running == 0 && bytes.Contains(rec.State, []byte(b.kept)) {
		b.due = b.kept
	}
	k.jobs.begun = false
}

// cancels judges that a backend is asked to cancel its job of a task.
func (j *judge) cancels(k *taskClient, state string) {
	k.jobs.cancelled = append(k.jobs.cancelled, state)
	if !j.faultless() {
		return
	}
	if !k.cancelled && k.task != "" && !j.overdue(k) { // A client that leaves cancels what is not a task yet.
		j.fail("the job of %s is cancelled, though the task was not", k.id)
	}
	if len(k.jobs.cancelled) > 1 {
		j.fail("the job of %s is cancelled %d times", k.id, len(k.jobs.cancelled))
	}
}

// overdue says whether the lifetime of a task is over: another replica may have ended it, without the state that its owner has not stored.
func (j *judge) overdue(k *taskClient) bool {
	rec, _, _ := j.w.medium.Call(k.task)
	return j.w.start.Add(j.w.now).After(rec.Deadline)
}

// jobOf judges, at the end of a history, that the job of a task that was cancelled between two rounds was cancelled.
func (j *judge) jobOf(k *taskClient) {
	if b := &k.jobs; j.faultless() && k.acknowledged > 0 && k.status == "cancelled" && b.due != "" && !b.begun && len(b.cancelled) == 0 {
		j.fail("the job of %s, %q, is left, though its task was cancelled", k.id, b.due)
	}
}
