package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/transport/sse"
)

// durable is where the state lives, and what its life asks of the process.
type durable interface {
	// Store gives this replica its view, once.
	Store(h medium.Hooks) medium.Store
	// Tasks gives this replica its view of what keeps tasks, once.
	Tasks(h medium.Hooks) medium.Store
	// Start connects. An error that is state.ErrUnavailable may pass.
	Start(ctx context.Context) error
	// Secret is the key that replicas on this medium share; nil when there is none to share.
	Secret(ctx context.Context) ([]byte, error)
	// Relay takes messages to other replicas; nil when there are none.
	Relay() sse.Relay
	// Quotas are the budgets that replicas share; nil when there is none to share them with.
	Quotas() quota.Store
	// Proofs are those of bound tokens that were used on any replica; nil when there are no others.
	Proofs() auth.Proofs
	// Names are what backends listed last, on any replica; nil when there are no others.
	Names() ownership.Store
	// Dropped is how many progress and log messages the bounds on logs cost so far.
	Dropped() uint64
	// Close ends what Start began.
	Close() error
}

const (
	// startPause is between two attempts to reach the state at start.
	startPause = time.Second
	// startTimeout bounds one of them.
	startTimeout = 5 * time.Second
)

// startState waits until the state can be used. Before that this replica is not ready: one that never
// saw its state must not replace others that do. It returns nil as well when ctx ends: whoever told the
// process to end knows why it did. Afterwards trouble with the state ends nothing: the
// stateless era goes on, the other recovers by itself.
func (a *App) startState(ctx context.Context) error {
	for warned := false; ; {
		err := a.tryState(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, state.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("state: %w", err)
		}
		a.notReady("the state cannot be reached: %v", err)
		if !warned {
			warned = true
			a.log.Warn("the state cannot be reached; trying on", "error", err)
		}
		select {
		case <-time.After(startPause):
		case <-ctx.Done():
			return nil
		}
	}
}

func (a *App) tryState(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := a.durable.Start(ctx); err != nil {
		return err
	}
	if err := a.names.Load(ctx); err != nil {
		return err
	}
	if len(a.cfg.StateKeys) > 0 {
		return nil
	}
	key, err := a.durable.Secret(ctx)
	if err != nil || key == nil {
		return err
	}
	return a.stateless.SealWith(key)
}

func stateLimits(l config.Limits) state.Limits {
	out := state.DefaultLimits()
	out.SessionTTL, out.LogTTL = l.SessionTTL, l.LogTTL
	out.LogEvents, out.LogBytes, out.ResultBytes = l.LogEvents, int(l.LogBytes), int(l.ResultBytes)
	out.SessionsPerPrincipal, out.StreamsPerSession = l.SessionsPerPrincipal, l.StreamsPerSession
	out.SessionBytes, out.Subscriptions, out.Lease = int(l.SessionBytes), l.Subscriptions, l.Lease
	out.PrincipalBytes = int(l.PrincipalBytes)
	return out
}

// taskEvents bounds what is kept of a task's status messages, beside its runs, questions and end, of which a task with all its rounds has as many:
// the last one is shown.
const taskEvents = 24

// taskLimits are those of the medium of tasks, of which each is a session.
func taskLimits(l config.Limits) state.Limits {
	out := stateLimits(l)
	out.SessionTTL, out.LogTTL, out.LogEvents, out.SessionsPerPrincipal = l.TaskTTL, l.TaskTTL, taskEvents, l.TasksPerPrincipal
	return out
}
