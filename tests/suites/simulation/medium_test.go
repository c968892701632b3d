package simulation

import (
	"bytes"
	"context"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

// newMedium makes the store that the replicas of a world share, with their session.
func newMedium(w *world) *model.Medium {
	m := &model.Medium{Bug: inMedium[w.bug], Refuse: w.refuse, LosesSessions: true, Random: w.draw32}
	for _, id := range sessions {
		if err := m.Replica(medium.Hooks{}).Create(context.Background(), &state.Session{ID: id}); err != nil {
			panic(err)
		}
	}
	return m
}

// step names a step, whichever copy of it is sent.
type step struct {
	call  string
	epoch medium.Epoch
	n     uint64
}

// refusals are the errors with which the store refuses the content of steps, nil too: those of one copy, and those of all, which depend
// on the step's size alone.
type refusals struct {
	copies map[*medium.Write]error
	steps  map[step]error
}

// refuse returns the error with which the store refuses the content of a step. It is the same for each repetition that the network makes:
// a full session, or a name that another call has, lasts longer than one is late. A response that is too large is so whenever it is sent.
func (w *world) refuse(s *medium.Write) error {
	if err := once(w.refusals.steps, step{s.Call, s.Epoch, s.N}, func() error { return w.tooLarge(s) }); err != nil {
		return err
	}
	return once(w.refusals.copies, s, func() error { return w.refusal(s) })
}

// once returns what draw returned first for the key.
func once[K comparable](said map[K]error, key K, draw func() error) error {
	err, ok := said[key]
	if !ok {
		err = draw()
		said[key] = err
	}
	return err
}

// ends says whether a step ends its call with the response of a backend. One of the edge's own fits anywhere.
func ends(s *medium.Write) bool {
	return s.Next == medium.NextDone && len(s.Entries) > 0 && bytes.Contains(s.Entries[len(s.Entries)-1].Data, []byte("result of"))
}

// tooLarge draws whether a response is too large. Those of tasks are small in all histories.
func (w *world) tooLarge(s *medium.Write) error {
	if !w.refuses || w.kind == ofTasks || !ends(s) || !w.maybe(3) {
		return nil
	}
	return state.ErrTooLarge
}

// refusal draws whether the store refuses a copy of a step for what else it has by then.
func (w *world) refusal(s *medium.Write) error {
	switch {
	case !w.refuses || len(s.Entries) == 0 || s.Next == medium.NextDone && !ends(s) || !w.maybe(2):
		return nil
	case s.Next == medium.NextWaiting:
		return state.ErrExists
	case s.Next == medium.NextDone: // Its caller keeps too much.
		return state.ErrLimit
	case w.kind == ofTasks:
		return nil
	}
	return state.ErrTooLarge
}

// allDone says whether all calls have ended, or wait for clients that may have left.
func (w *world) allDone() bool {
	for _, r := range w.medium.Records() {
		if r.Phase != state.PhaseDone && r.Phase != state.PhaseWaiting {
			return false
		}
	}
	return true
}
