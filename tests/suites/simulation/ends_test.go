package simulation

import (
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// keptFor is how long a replica knows the calls that it has ended (docs/state.md).
	keptFor = 10 * time.Second
	// resentBy is how long after it has heard that the store was away a replica may take to send again what it knows.
	resentBy = time.Second
)

// callEnd is an end of a call that the store has taken. A call has several if the store lost one, and took another before the author of the
// first had sent that again.
type callEnd struct {
	epoch  medium.Epoch
	author *replica
	// at is when the store took it last, not when it was sent again while the store had it. stands: the store has it.
	at     time.Duration
	stands bool
	// beaten: its author has sent it again in time, but the store had given the call to another owner by then.
	beaten bool
}

// sentEnd judges a write or a Restore of the end of a call by its author that the store has taken, or refused because of another owner.
func (j *judge) sentEnd(r *replica, id string, epoch medium.Epoch) {
	rec, _, stored := j.w.medium.Call(id)
	at := slices.IndexFunc(j.ends[id], func(e *callEnd) bool { return e.epoch == epoch })
	if taken := stored && rec.Phase == state.PhaseDone && rec.Epoch == epoch; !taken {
		if at >= 0 {
			e := j.ends[id][at]
			e.beaten = e.mayBeUnsent(j.w, id)
		}
		return
	}
	if at < 0 {
		e := &callEnd{epoch: epoch, author: r}
		j.endsAgain(id, e)
		at, j.ends[id] = len(j.ends[id]), append(j.ends[id], e)
	}
	e := j.ends[id][at]
	if e.beaten = false; !e.stands {
		e.at, e.stands = j.w.now, true
	}
}

// endsAgain judges that the store takes another end of a call.
func (j *judge) endsAgain(id string, another *callEnd) {
	for _, e := range j.ends[id] {
		switch {
		case e.stands:
			j.fail("%s ends by r%d, though the store has its end by r%d", id, another.author.id, e.author.id)
		case !e.mayBeUnsent(j.w, id):
			j.fail("%s ends by r%d, though r%d had heard that the store may have lost its end", id, another.author.id, e.author.id)
		}
	}
}

// mayBeUnsent says whether the author of an end that the store has lost may not have sent it again yet, or never will.
func (e *callEnd) mayBeUnsent(w *world, id string) bool {
	r, c := e.author, w.requestOf(id)
	switch {
	case e.beaten, !r.alive, r.closed:
		return true
	case r.back <= w.rewound: // It has not heard of the loss.
		return true
	case r.back > e.at+keptFor:
		return true
	case w.now <= max(r.back, r.paused)+resentBy, w.lossy && w.now <= lossEnd+opTimeout:
		return true
	}
	return c != nil && c.x.left()
}

// lostEnds notes which ends the store has after it has lost writes.
func (j *judge) lostEnds() {
	for id, ends := range j.ends {
		rec, _, stored := j.w.medium.Call(id)
		for _, e := range ends {
			e.stands = stored && rec.Phase == state.PhaseDone && rec.Epoch == e.epoch
		}
	}
}

// endedAgain says whether the client of a call may be sent another response than before: the call is one of a batch, and the store has
// taken several ends of it, each of which was judged.
func (c *request) endedAgain() bool { return c.x.repeats() && len(c.w.judge.ends[c.id]) > 1 }
