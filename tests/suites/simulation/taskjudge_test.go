package simulation

import (
	"errors"
	"strings"

	"github.com/mcpedge/mcpedge/edge/state"
)

// faultless says that nothing has happened so far for which a request may fail.
func (j *judge) faultless() bool {
	w := j.w
	return j.calm() && !w.lossy && !w.refuses && w.stops+w.outages+w.drains == 0
}

// refused judges a request about a task that failed.
func (j *judge) refused(k *taskClient, what string, err error) {
	if j.faultless() && !errors.Is(err, errLost) && k.status == "" && (what == cancellation || !k.mayFail()) {
		j.fail("%s of %s fails without a fault: %v", what, k.id, err)
	}
}

// cancellation is what is refused where a cancellation is.
const cancellation = "its cancellation"

// mayFail says whether the task itself may have failed, or was cancelled, which tasks/result is answered with.
func (k *taskClient) mayFail() bool { return k.cancelled || k.w.lifetime < lifetime }

// plain judges a call that did not become a task.
func (j *judge) plain(k *taskClient, text string) {
	if !j.results[text] {
		j.fail("%s ended with %q, which no backend has sent", k.id, text)
	}
}

// unknown judges that a task does not exist for its client. It says whether it may exist again.
func (j *judge) unknown(k *taskClient) bool {
	if j.calm() && !k.expired {
		j.fail("the task of %s is unknown though it was acknowledged", k.id)
	}
	k.left = k.left || !j.calm() && j.w.lostTask(k)
	return !j.calm() && !k.left
}

// lostTask says whether the store has lost the task with its session. No replica creates the session of a task again that has begun; a
// Create that was sent twice may, without the task.
func (w *world) lostTask(k *taskClient) bool {
	_, _, stored := w.medium.Call(k.task)
	return w.lost(k.task) || w.lostSessions[k.task] && !stored
}

// status judges an end of a task that its client is sent: it never changes, and a backend has sent its result.
func (j *judge) status(k *taskClient, status, result string) {
	if k.expired && j.calm() {
		j.fail("%s is %s though it has expired", k.id, status)
	}
	if status == "completed" && result != "" && !j.results[result] {
		j.fail("%s ended with %q, which no backend has sent", k.id, result)
	}
	if !j.calm() {
		return // The end that the store lost with its writer may become another.
	}
	if k.status != "" && k.status != status || k.result != "" && result != "" && k.result != result {
		j.fail("%s is %s with %q after it was %s with %q", k.id, status, result, k.status, k.result)
	}
	if k.status == "" && status == "completed" && k.cancelledAt() {
		j.fail("%s is completed though its cancellation was acknowledged", k.id)
	}
}

// goesOn judges that a task works, or waits for its client. ends: the client knew that it has ended when it asked.
func (j *judge) goesOn(k *taskClient, status string, ends bool) {
	switch {
	case status != "working" && status != "input_required":
		j.fail("%s has the status %q", k.id, status)
	case j.calm() && ends:
		j.fail("%s is %s though it has ended or was cancelled", k.id, status)
	}
}

// acknowledged judges that a cancellation is acknowledged: the task has ended by then, in the store.
func (j *judge) acknowledged(k *taskClient, status string) {
	if k.acknowledged == 0 {
		k.acknowledged = j.w.now
	}
	if !j.calm() || k.expired {
		return
	}
	rec, _, stored := j.w.medium.Call(k.task)
	if !stored || rec.Phase != state.PhaseDone {
		j.fail("the cancellation of %s is acknowledged in phase %d", k.id, rec.Phase)
	}
	if status == "" {
		status = j.stored(k)
	}
	k.ended(status, "")
}

// cancelledAt says whether the task had the status cancelled when its cancellation was acknowledged.
func (k *taskClient) cancelledAt() bool { return k.acknowledged > 0 && k.status == "cancelled" }

// stored is the status that the log of a task has: its last response.
func (j *judge) stored(k *taskClient) string {
	_, log, _ := j.w.medium.Call(k.task)
	status := "cancelled"
	for i := range log {
		switch data := string(log[i].Data); {
		case log[i].Kind != state.EntryResponse:
		case strings.Contains(data, `"result":`):
			status = "completed"
		case strings.Contains(data, `"error":`):
			status = "failed"
		}
	}
	return status
}

// runsTask judges that a backend runs a task, or still does.
func (j *judge) runsTask(c *request, begins bool) {
	k := j.w.taskOf(c.id)
	if k == nil || k.acknowledged == 0 || !j.calm() {
		return
	}
	late := j.w.now > k.acknowledged+deletedBy && !j.w.lossy && j.w.stops+j.w.outages == 0
	if begins && j.w.now > k.acknowledged+opTimeout || late {
		j.fail("%s runs %v after its cancellation was acknowledged", k.id, j.w.now-k.acknowledged)
	}
}

// task judges a task at the end of the history.
func (j *judge) task(k *taskClient) {
	w := j.w
	j.jobOf(k)
	rec, log, stored := w.medium.Call(k.task)
	only := stored && rec.Phase == state.PhaseDone && len(j.ends[k.task]) == 1 // the end that the client was sent
	if only && k.repeats(rec.Round) && strings.Contains(k.result, "whether it took effect is not known") && !w.refuses {
		j.fail("%s ended with %q, though its round %d may be run again", k.id, k.result, rec.Round)
	}
	n := 0
	for i := range log {
		if log[i].Kind == state.EntryResponse {
			n++
		}
	}
	if n > 1 {
		j.fail("the log has %d ends of %s", n, k.id)
	}
	switch {
	case !k.done:
		j.fail("%s hangs", k.id)
	case k.task == "" || k.expired || k.left || !j.calm() && w.lostTask(k):
		return
	case !stored && j.calm():
		j.fail("the record of %s is gone", k.id)
	case k.status == "" && w.stops == 0 && !w.excused(&k.request):
		j.fail("%s has no end, and nobody has stopped: %d times unknown", k.id, k.unknown)
	case k.status == "" && j.calm():
		j.fail("%s has no end", k.id)
	}
	late := k.status == "failed" && strings.Contains(k.result, "did not end within")
	// Where nobody stops, everybody who hears of it sends again what was lost; and who writes later hears of it.
	if late && w.lifetime == lifetime && w.stops == 0 && !w.excused(&k.request) {
		j.fail("%s ended by its lifetime though nobody has stopped", k.id)
	}
	if k.status != "failed" || !j.calm() {
		return
	}
	lost := strings.Contains(k.result, "lost")
	switch {
	case late && w.lifetime == lifetime:
		j.fail("%s ended by its lifetime: %q", k.id, k.result)
	case lost && w.stops == 0 && !w.lossy:
		j.fail("%s ended with %q though nobody has stopped", k.id, k.result)
	case !late && !lost && j.faultless() && !k.cancelled:
		j.fail("%s ended with %q without a fault", k.id, k.result)
	}
}

// counted judges the ends that the replicas counted: each is counted once.
func (j *judge) counted() {
	n := int64(0)
	for _, r := range j.w.all {
		if r.tasks != nil {
			c := r.tasks.Counters()
			n += c.Completed.Load() + c.Failed.Load() + c.Cancelled.Load()
		}
	}
	if j.calm() && n > int64(len(j.w.tasks)) {
		j.fail("%d ends of %d tasks were counted", n, len(j.w.tasks))
	}
}
