package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/dispatch"
	"github.com/mcpedge/mcpedge/edge/era/stateful"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/transport/sse"
)

// durable is the medium of the state with what replicas share on it.
type durable struct {
	media
	shared
	// state returns whether this replica reaches the medium now.
	state func() admin.State
	// dropped returns the number of progress and log messages dropped because of the bounds on
	// logs.
	dropped func() uint64
}

// media are the medium of sessions and that of tasks, with their lifecycle.
type media interface {
	// Store returns this replica's view, once.
	Store(h medium.Hooks) medium.Store
	// Tasks returns this replica's view of the medium of tasks, once.
	Tasks(h medium.Hooks) medium.Store
	// Start connects. An error that is state.ErrUnavailable may be temporary.
	Start(ctx context.Context) error
	// Secret returns the key that replicas on this medium share, or nil if there is none.
	Secret(ctx context.Context) ([]byte, error)
	// Close ends what Start began.
	Close() error
}

// shared has the stores that replicas share in addition to the medium. The zero value is for a
// single replica.
type shared struct {
	// relay relays messages to other replicas.
	relay sse.Relay
	// quotas are the budgets that replicas share.
	quotas quota.Store
	// proofs are the proofs of bound tokens used on any replica.
	proofs auth.Proofs
	// confirmations are the confirmations of calls used on any replica.
	confirmations dispatch.Confirmations
	// ended are the sessions that have ended on any replica, for stateful.Options.Optional.
	ended stateful.Ended
	// names are what backends listed last on any replica.
	names ownership.Store
	// disabled is what operators have disabled on any replica.
	disabled disabled.Store
}

const (
	// startPause is the pause between two attempts to reach the state at start.
	startPause = time.Second
	// startTimeout bounds one of them.
	startTimeout = 5 * time.Second
)

// startState waits until the state can be used. Until then this replica is not ready, because a
// replica that never reached its state must not replace others that did. It calls away after each
// failed attempt. It also returns nil when ctx ends, because the process was then asked to end.
// Later failures of the state do not end the process: the stateless era continues, and the stateful
// one recovers by itself.
func (a *App) startState(ctx context.Context, away func()) error {
	for failures := new(telemetry.Repeated); ; {
		err := a.tryState(ctx)
		if err == nil {
			if failures.Ended() {
				a.log.Info("the state can be reached")
			}
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, state.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("state: %w", err)
		}
		a.notReady("the state cannot be reached: %v", err)
		away()
		if failures.Failed(err, time.Now()) {
			a.log.Warn("the state cannot be reached; retrying", "error", err)
		}
		select {
		case <-time.After(startPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// explainState returns the error for an unreachable state. If the server speaks TLS and the settings do
// not, or the reverse, the error says which setting to change.
func (a *App) explainState(err error) error {
	if a.cfg.Redis.URL == "" || isPermanent(err) {
		return err
	}
	if why := tlsMismatch(context.Background(), &a.cfg); why != nil {
		return &explainedState{why, err}
	}
	return err
}

// explainedState is an error of the state with another error as its explanation.
type explainedState struct{ why, err error }

func (e *explainedState) Error() string   { return e.why.Error() }
func (e *explainedState) Unwrap() []error { return []error{e.why, e.err} }

func (a *App) tryState(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := a.durable.Start(ctx); err != nil {
		return a.explainState(err)
	}
	if err := errors.Join(a.names.Load(ctx), a.disabled.Load(ctx)); err != nil {
		return err
	}
	key, err := a.durable.Secret(ctx) // also read with state keys: its loss shows that Redis came back empty
	if err != nil || key == nil || len(a.cfg.Redis.SealKeys) > 0 {
		return err
	}
	return errors.Join(a.stateless.SealWith(key), a.stateful.SealWith(key))
}

func stateLimits(c *config.Config) state.Limits {
	out := state.DefaultLimits()
	out.SessionTTL, out.LogTTL = c.Sessions.TTL, c.Streams.TTL
	out.LogEvents, out.LogBytes, out.ResultBytes = config.StreamEvents, int(c.Advanced.StreamBytes), int(c.Streams.ResultBytes)
	out.SessionsPerPrincipal, out.StreamsPerSession = c.Clients.Sessions, config.StreamsPerSession
	out.SessionBytes, out.Subscriptions, out.Lease = int(c.Sessions.Bytes), c.Clients.Subscriptions, c.Redis.Lease
	out.PrincipalBytes = int(c.Clients.Bytes)
	return out
}

// taskEvents bounds the stored status messages of a task, besides its runs, questions and end,
// which the bound leaves room for. The last one is shown.
const taskEvents = 24

// taskLimits returns the limits of the medium of tasks, in which each task is a session.
func taskLimits(c *config.Config) state.Limits {
	out := stateLimits(c)
	out.SessionTTL, out.LogTTL, out.LogEvents, out.SessionsPerPrincipal = c.Tasks.TTL, c.Tasks.TTL, taskEvents, c.Clients.Tasks
	return out
}
