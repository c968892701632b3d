package stateful

import (
	"context"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// faults is a store with injected faults.
type faults struct {
	medium.Store
	hooks medium.Hooks
	mu    sync.Mutex
	down  bool
	mute  bool // heartbeats fail
	// onPark and onRing are called before the operation; nil disables them.
	onPark, onRing func()
	lose           bool // the medium forgets acknowledged entries
	deaf           bool // Begin is reported as failed
	unsaid         int  // the number of replies to Answer, Claim and Restore that are lost
	blind          int  // the number of reads that fail
	slow           time.Duration
	// commits and loads count the forwarded operations, and touched the sessions of forwarded ones.
	commits, loads, touched int
	forget                  bool // the medium forgets an acknowledged last step
	// forgetAnswer makes the medium forget an Answer while other answers are missing.
	forgetAnswer bool
}

func (f *faults) set(down, mute bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down, f.mute = down, mute
}

func (f *faults) loaded() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loads
}

func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return state.ErrUnavailable
	}
	return nil
}

func (f *faults) Beat(ctx context.Context, most int, leaving bool) ([]medium.ClaimTarget, error) {
	f.mu.Lock()
	mute := f.mute
	f.mu.Unlock()
	if mute {
		return nil, state.ErrUnavailable
	}
	return f.Store.Beat(ctx, most, leaving)
}

func (f *faults) Create(ctx context.Context, s *state.Session) error {
	f.mu.Lock()
	slow := f.slow
	f.mu.Unlock()
	time.Sleep(slow)
	if err := f.err(); err != nil {
		return err
	}
	return f.Store.Create(ctx, s)
}

func (f *faults) Load(ctx context.Context, id string, use bool) (*state.SessionInfo, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.loads++
	f.mu.Unlock()
	return f.Store.Load(ctx, id, use)
}

func (f *faults) Touch(ctx context.Context, ids []string, use bool) (map[string]uint64, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.touched += len(ids)
	f.mu.Unlock()
	return f.Store.Touch(ctx, ids, use)
}

func (f *faults) Commit(ctx context.Context, w *medium.Write) error {
	if err := f.err(); err != nil {
		return err
	}
	last := w.Next == medium.NextWaiting || w.Next == medium.NextDone
	f.mu.Lock()
	var hook func()
	if w.Next == medium.NextWaiting {
		hook, f.onPark = f.onPark, nil
	}
	lost := f.lose && len(w.Entries) > 0 && !last || f.forget && last
	if lost {
		f.lose, f.forget = f.lose && last, f.forget && !last
	}
	f.commits++
	deaf, slow := f.deaf && len(w.Begin) > 0, f.slow
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	time.Sleep(slow)
	if lost {
		return nil
	}
	err := f.Store.Commit(ctx, w)
	if deaf {
		return state.ErrUnavailable
	}
	return err
}

func (f *faults) Notify(ctx context.Context, b state.SessionEvent) error {
	f.mu.Lock()
	hook := f.onRing
	f.onRing = nil
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	return f.Store.Notify(ctx, b)
}

func (f *faults) Answer(ctx context.Context, s, ask string, a state.Answer, random uint32) (state.AnswerStatus, *medium.Owned, error) {
	if err := f.err(); err != nil {
		return 0, nil, err
	}
	f.mu.Lock()
	forget := f.forgetAnswer
	f.forgetAnswer = false
	f.mu.Unlock()
	if forget {
		return state.AnswerUnknown, nil, nil
	}
	status, o, err := f.Store.Answer(ctx, s, ask, a, random)
	if err == nil && f.unheard() {
		return 0, nil, state.ErrUnavailable
	}
	return status, o, err
}

func (f *faults) Claim(ctx context.Context, w medium.ClaimTarget) (*medium.Owned, error) {
	o, err := f.Store.Claim(ctx, w)
	if err == nil && f.unheard() {
		return nil, state.ErrUnavailable
	}
	return o, err
}

func (f *faults) Restore(ctx context.Context, r *medium.Record, entries []medium.Entry, runs bool) (medium.Verdict, error) {
	if err := f.err(); err != nil {
		return 0, err
	}
	v, err := f.Store.Restore(ctx, r, entries, runs)
	if err == nil && f.unheard() {
		return 0, state.ErrUnavailable
	}
	return v, err
}

// unheard reports whether a reply is lost.
func (f *faults) unheard() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsaid--
	return f.unsaid >= 0
}

func (f *faults) Read(ctx context.Context, s, stream string, after medium.Position, most int) (medium.Page, error) {
	if err := f.err(); err != nil {
		return medium.Page{}, err
	}
	f.mu.Lock()
	f.blind--
	blind := f.blind >= 0
	f.mu.Unlock()
	if blind {
		return medium.Page{}, state.ErrUnavailable
	}
	return f.Store.Read(ctx, s, stream, after, most)
}
