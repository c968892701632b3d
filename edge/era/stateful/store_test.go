package stateful

import (
	"context"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// faults is a store that can be unreachable or silent.
type faults struct {
	state.Store
	mu   sync.Mutex
	down bool
	mute bool // no sign of life
	// Before an operation is passed on; nil: nothing. lose: the medium forgets an Append that it has
	// acknowledged.
	onPark func()
	onRing func()
	lose   bool
	deaf   bool // what is done is reported as failed
	unsaid int  // so many replies to Answer and Claim are lost
	blind  int  // so many readings fail
	slow   time.Duration
	// appends counts those that were passed on, touched the sessions that were.
	appends   int
	touched   int
	concluded []string // the streams
	forget    bool     // the medium forgets a Park or Finish that it has acknowledged
	// forgetAnswer: the medium forgets an Answer beside which others are missing.
	forgetAnswer bool
}

func (f *faults) set(down, mute bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down, f.mute = down, mute
}

func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return state.ErrUnavailable
	}
	return nil
}

func (f *faults) Beat(ctx context.Context) error {
	f.mu.Lock()
	mute := f.mute
	f.mu.Unlock()
	if mute {
		return state.ErrUnavailable
	}
	return f.Store.Beat(ctx)
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

func (f *faults) Load(ctx context.Context, id string) (*state.Session, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	return f.Store.Load(ctx, id)
}

func (f *faults) Touch(ctx context.Context, ids []string) (map[string]uint64, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.touched += len(ids)
	f.mu.Unlock()
	return f.Store.Touch(ctx, ids)
}

func (f *faults) Serials(ctx context.Context, ids []string) (map[string]uint64, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.touched += len(ids)
	f.mu.Unlock()
	return f.Store.Serials(ctx, ids)
}

func (f *faults) Begin(ctx context.Context, s, stream string, calls []state.Call) ([]state.Lease, error) {
	if err := f.err(); err != nil {
		return nil, err
	}
	leases, err := f.Store.Begin(ctx, s, stream, calls)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deaf {
		return nil, state.ErrUnavailable
	}
	return leases, err
}

func (f *faults) Finish(ctx context.Context, w state.Write, response []byte, before ...state.Entry) error {
	if err := f.err(); err != nil {
		return err
	}
	if f.forgets() {
		return nil
	}
	return f.Store.Finish(ctx, w, response, before...)
}

func (f *faults) Conclude(ctx context.Context, s, stream string, c state.Call, response []byte, before ...state.Entry) error {
	if err := f.err(); err != nil {
		return err
	}
	f.mu.Lock()
	deaf := f.deaf
	f.concluded = append(f.concluded, stream)
	f.mu.Unlock()
	if f.forgets() {
		return nil
	}
	err := f.Store.Conclude(ctx, s, stream, c, response, before...)
	if deaf {
		return state.ErrUnavailable
	}
	return err
}

func (f *faults) Append(ctx context.Context, w state.Write, entries ...state.Entry) error {
	if err := f.err(); err != nil {
		return err
	}
	f.mu.Lock()
	lose, slow := f.lose && len(entries) > 0, f.slow
	f.lose = f.lose && !lose
	f.appends++
	f.mu.Unlock()
	time.Sleep(slow)
	if lose {
		return nil
	}
	return f.Store.Append(ctx, w, entries...)
}

func (f *faults) Park(ctx context.Context, w state.Write, asks []state.Ask, kept []byte) error {
	f.mu.Lock()
	hook := f.onPark
	f.onPark = nil
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	if f.forgets() {
		return nil
	}
	return f.Store.Park(ctx, w, asks, kept)
}

func (f *faults) Ring(ctx context.Context, b state.Bell) error {
	f.mu.Lock()
	hook := f.onRing
	f.onRing = nil
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	return f.Store.Ring(ctx, b)
}

func (f *faults) Answer(ctx context.Context, s, ask string, a state.Answer) (state.AnswerOutcome, *state.Claim, error) {
	if err := f.err(); err != nil {
		return 0, nil, err
	}
	f.mu.Lock()
	forget := f.forgetAnswer
	f.forgetAnswer = false
	f.mu.Unlock()
	if forget {
		return state.AnswerTaken, nil, nil
	}
	outcome, c, err := f.Store.Answer(ctx, s, ask, a)
	if err == nil && f.unheard() {
		return 0, nil, state.ErrUnavailable
	}
	return outcome, c, err
}

func (f *faults) Claim(ctx context.Context, w state.Which) (*state.Claim, error) {
	c, err := f.Store.Claim(ctx, w)
	if err == nil && f.unheard() {
		return nil, state.ErrUnavailable
	}
	return c, err
}

// forgets says that a write is lost.
func (f *faults) forgets() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	forget := f.forget
	f.forget = false
	return forget
}

// unheard says that a reply is lost.
func (f *faults) unheard() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsaid--
	return f.unsaid >= 0
}

func (f *faults) Read(ctx context.Context, s string, after state.Position, max int) (state.Page, error) {
	if err := f.err(); err != nil {
		return state.Page{}, err
	}
	f.mu.Lock()
	f.blind--
	blind := f.blind >= 0
	f.mu.Unlock()
	if blind {
		return state.Page{}, state.ErrUnavailable
	}
	return f.Store.Read(ctx, s, after, max)
}

func (f *faults) Orphans(ctx context.Context, max int, runs func(state.Which) bool) ([]state.Which, error) {
	f.mu.Lock()
	mute := f.mute
	f.mu.Unlock()
	if mute {
		return nil, state.ErrUnavailable
	}
	return f.Store.Orphans(ctx, max, runs)
}
