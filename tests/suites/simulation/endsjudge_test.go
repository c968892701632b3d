package simulation

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

// judging is the store of a replica. It has the ends that it acknowledges judged.
type judging struct {
	medium.Store
	r *replica
}

func (s judging) Commit(ctx context.Context, w *medium.Write) error {
	err := s.Store.Commit(ctx, w)
	if w.Next == medium.NextDone && (err == nil || errors.Is(err, state.ErrFenced)) {
		s.r.w.judge.sentEnd(s.r, w.Call, w.Epoch)
	}
	return err
}

func (s judging) Restore(ctx context.Context, rec *medium.Record, entries []medium.Entry, runs bool) (medium.Verdict, error) {
	v, err := s.Store.Restore(ctx, rec, entries, runs)
	if err == nil && rec.Phase == state.PhaseDone {
		s.r.w.judge.sentEnd(s.r, rec.ID, rec.Epoch)
	}
	return v, err
}

// ended is a world of three replicas, whose first has ended the call c0 of a batch after a second.
type ended struct {
	*world
	t *testing.T
	// first is the writer of the first, and begun as it was before.
	first, begun *statetest.Writer
}

func newEnded(t *testing.T, b bug) *ended {
	w := &world{bug: b, deletions: map[string]*deletion{}, refusals: refusals{map[*medium.Write]error{}, map[step]error{}}}
	w.judge.init(w)
	w.medium = newMedium(w)
	for id := range 3 {
		w.replicas = append(w.replicas, &replica{w: w, id: id + 1, alive: true})
	}
	batch := &exchange{w: w, id: "x0", session: "s"}
	for _, id := range []string{"c0", "c1"} {
		batch.calls = append(batch.calls, &request{w: w, x: batch, id: id})
	}
	w.requests = batch.calls
	x := &ended{world: w, t: t}
	begun, err := statetest.Begin(t.Context(), x.store(0), "s", "st", state.Request{ID: "c0"})
	x.must(err)
	first := *begun[0]
	x.first, x.begun, w.now = &first, begun[0], time.Second
	x.must(x.first.Finish(t.Context(), []byte("one")))
	return x
}

func (x *ended) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// store is that of the replica of a number, from 0.
func (x *ended) store(n int) medium.Store {
	return judging{x.medium.Replica(medium.Hooks{}), x.replicas[n]}
}

// rewinds has the store lose its last write at a time.
func (x *ended) rewinds(at time.Duration) {
	x.now, x.rewound = at, at
	x.world.rewinds++
	x.medium.Rewind(1)
	x.judge.lostEnds()
}

// claimedBy has a replica claim the call.
func (x *ended) claimedBy(n int, random uint32) *statetest.Writer {
	x.t.Helper()
	o := x.first.ClaimTarget()
	o.Epoch, o.Random = 0, random
	w, err := statetest.Claim(x.t.Context(), x.store(n), o)
	x.must(err)
	return w
}

// endsBy has a replica claim the call and end it at a time.
func (x *ended) endsBy(n int, at time.Duration, random uint32) {
	x.t.Helper()
	x.now = at
	x.must(x.claimedBy(n, random).Finish(x.t.Context(), []byte("another")))
}

// A call ends a second time only if the store has lost its end and the author of that may not have sent it again.
func TestJudgeOfCallsThatEndAgain(t *testing.T) {
	const second = time.Second
	for name, c := range map[string]struct {
		// author sets the state of the replica that has written the first end, when the second comes, at a time. The store loses the first
		// after two seconds.
		author func(r *replica)
		at     time.Duration
		wrong  bool
	}{
		"has not heard of the loss":     {func(*replica) {}, 30 * second, false},
		"heard of an earlier one":       {func(r *replica) { r.back = second }, 30 * second, false},
		"is about to send it":           {func(r *replica) { r.back = 3 * second }, 4 * second, false},
		"had the time to send it":       {func(r *replica) { r.back = 3 * second }, 4*second + 1, true},
		"may have sent it in vain":      {func(r *replica) { r.back, r.w.lossy = 3*second, true }, 5 * second, false},
		"stood still":                   {func(r *replica) { r.back, r.paused = 3*second, 8*second }, 9 * second, false},
		"stood still, and had time":     {func(r *replica) { r.back, r.paused = 3*second, 8*second }, 9*second + 1, true},
		"has died":                      {func(r *replica) { r.back, r.alive = 3*second, false }, 5 * second, false},
		"closes":                        {func(r *replica) { r.back, r.closed = 3*second, true }, 5 * second, false},
		"drains":                        {func(r *replica) { r.back, r.draining = 3*second, true }, 5 * second, true},
		"heard when it still knew it":   {func(r *replica) { r.back = 11 * second }, 14 * second, true},
		"heard when it had forgotten":   {func(r *replica) { r.back = 11*second + 1 }, 14 * second, false},
		"left it to a DELETE":           {func(r *replica) { r.back, r.w.deletions["s"] = 3*second, &deletion{sent: second} }, 5 * second, false},
		"had no DELETE before the loss": {func(r *replica) { r.back, r.w.deletions["s"] = 3*second, &deletion{sent: 4 * second} }, 5 * second, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newEnded(t, noBug)
			x.rewinds(2 * second)
			c.author(x.replicas[0])
			x.endsBy(1, c.at, 2)
			if wrong := len(x.judge.failures) > 0; wrong != c.wrong {
				t.Errorf("the judge finds %q", x.judge.failures)
			}
		})
	}
}

// An end that was sent again in vain, because another stood by then, may be replaced once that is lost.
func TestJudgeOfEndsThatCameTooLate(t *testing.T) {
	x := newEnded(t, noBug)
	x.rewinds(2 * time.Second)
	x.endsBy(1, 3*time.Second, 2)
	_, err := x.first.Restore(t.Context())
	x.must(err)
	x.rewinds(4 * time.Second)
	x.replicas[0].back = 5 * time.Second
	x.endsBy(2, 10*time.Second, 3)
	if len(x.judge.failures) > 0 {
		t.Errorf("the judge finds %q", x.judge.failures)
	}
}

// A replica does not know an end for longer because it has sent it again while that stood.
func TestJudgeOfEndsThatStoodWhenSentAgain(t *testing.T) {
	x := newEnded(t, noBug)
	x.now = 5 * time.Second
	_, err := x.first.Restore(t.Context())
	x.must(err)
	x.rewinds(6 * time.Second)
	x.replicas[0].back = 11*time.Second + 1
	x.endsBy(1, 14*time.Second, 2)
	if len(x.judge.failures) > 0 {
		t.Errorf("the judge finds %q", x.judge.failures)
	}
}

// The call has another owner when its end is sent again: in time, or not.
func TestJudgeOfEndsThatAreFenced(t *testing.T) {
	for _, late := range []bool{false, true} {
		x := newEnded(t, noBug)
		x.rewinds(2 * time.Second)
		w := x.claimedBy(1, 2)
		x.replicas[0].back = 3 * time.Second
		if x.now = 4 * time.Second; late {
			x.now++
		}
		if err := x.begun.Finish(t.Context(), []byte("one")); !errors.Is(err, state.ErrFenced) {
			t.Fatal(err)
		}
		x.now = 10 * time.Second
		x.must(w.Finish(t.Context(), []byte("another")))
		if wrong := len(x.judge.failures) > 0; wrong != late {
			t.Errorf("late %t: the judge finds %q", late, x.judge.failures)
		}
	}
}

// The store replaces an end that it has.
func TestJudgeOfEndsThatStand(t *testing.T) {
	x := newEnded(t, restoreOverrides)
	if x.medium.Bug != model.RestoreOverrides {
		t.Fatal("the store has no bug")
	}
	other := x.first.Record
	other.Epoch = other.Epoch.Next(7)
	_, err := x.store(1).Restore(t.Context(), &other, nil, false)
	x.must(err)
	if len(x.judge.failures) == 0 {
		t.Error("the judge finds nothing")
	}
}

// A client of a batch is sent another response only of a call that has ended again.
func TestJudgeOfOtherResponses(t *testing.T) {
	for _, again := range []bool{false, true} {
		x := newEnded(t, noBug)
		x.rewinds(2 * time.Second)
		c := x.requests[0]
		c.take("one")
		if again {
			x.endsBy(1, 3*time.Second, 2)
		}
		x.judge.sent(&conn{x: c.x}, &event{of: c, kind: state.EntryResponse, data: "another"})
		if wrong := len(x.judge.failures) > 0; wrong == again {
			t.Errorf("with another end %t the judge finds %q", again, x.judge.failures)
		}
	}
}
