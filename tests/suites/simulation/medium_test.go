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

// refuse returns the error with which the store refuses the content of a step. It is the same for each copy of the step: a full
// session, or a name that another call has, lasts longer than a copy is late.
func (w *world) refuse(s *medium.Write) error {
	err, said := w.refusals[s]
	if !said {
		err = w.refusal(s)
		w.refusals[s] = err
	}
	return err
}

func (w *world) refusal(s *medium.Write) error {
	switch {
	case !w.refuses || len(s.Entries) == 0 || !w.maybe(2):
		return nil
	case s.Next == medium.NextWaiting:
		return state.ErrExists
	case w.kind == ofTasks: // Their ends are small in all histories.
		return nil
	case s.Next == medium.NextDone && bytes.HasPrefix(s.Entries[len(s.Entries)-1].Data, []byte("failure")):
		return nil // It fits anywhere.
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
