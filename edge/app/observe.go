package app

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// observe registers the counters of all stages with telemetry.
func (a *App) observe() error {
	errs := a.observeSessions()
	errs = append(errs, a.observeTasks()...)
	errs = append(errs, a.observeBackends()...)
	errs = append(errs, a.observeMemory()...)
	errs = append(errs, a.observeGeneration())
	errs = append(errs, a.telemetry.Observe(telemetry.CatalogDisabled, func(emit telemetry.Emit) { emit(float64(len(a.disabled.List().Entries()))) }),
		a.telemetry.Observe(telemetry.CatalogDisabledAge, func(emit telemetry.Emit) { emit(a.disabled.Age().Seconds()) }))
	errs = append(errs, a.observeQuotas()...)
	errs = append(errs, a.observePolicy()...)
	errs = append(errs, a.observeHooks()...)
	errs = append(errs, a.observeAudit()...)
	errs = append(errs, a.observeRedaction()...)
	errs = append(errs, a.observeTLS()...)
	errs = append(errs, a.observeIdentity()...)
	errs = append(errs, a.foreign.observe(a.telemetry))
	return errors.Join(errs...)
}

func (a *App) observeSessions() (errs []error) {
	c := a.stateful.Counters()
	for name, n := range map[string]*atomic.Int64{
		telemetry.SessionsCreated: &c.SessionsCreated, telemetry.SessionsEnded: &c.SessionsEnded,
		telemetry.StreamsOpen: &c.Streams, telemetry.StandaloneOpen: &c.Standalone,
		telemetry.StreamsResumed: &c.StreamsResumed, telemetry.EventsReplayed: &c.EventsReplayed,
		telemetry.LogAppends: &c.Appended, telemetry.LogRollbacks: &c.Rollbacks, telemetry.QueueDepth: &c.Queued,
		telemetry.CallsBegun: &c.Calls, telemetry.CallsOpened: &c.CallsOpened, telemetry.CallsParked: &c.CallsParked,
		telemetry.CallsCancelled: &c.CallsCancelled, telemetry.CallsTakenOver: &c.Takeovers,
		telemetry.CallsRerun: &c.Reruns, telemetry.CallsUnknown: &c.UnknownOutcomes,
	} {
		errs = append(errs, a.telemetry.Observe(name, func(emit telemetry.Emit) { emit(float64(n.Load())) }))
	}
	tasks := a.tasks.Counters()
	for name, n := range map[string][2]*atomic.Int64{
		telemetry.WritesFenced: {&c.Fenced, &tasks.Fenced}, telemetry.StateErrors: {&c.StateErrors, &tasks.StateErrors},
	} {
		errs = append(errs, a.telemetry.Observe(name, func(emit telemetry.Emit) { emit(float64(n[0].Load() + n[1].Load())) }))
	}
	return append(errs,
		a.telemetry.Observe(telemetry.Ready, func(emit telemetry.Emit) { emit(one(a.Ready() == nil)) }),
		a.telemetry.Observe(telemetry.StateReachable, func(emit telemetry.Emit) { emit(one(a.durable.state().Reachable)) }),
		a.telemetry.Observe(telemetry.AuthExpired, func(emit telemetry.Emit) {
			n := c.Expired.Load() + a.stateless.Expired() + a.endpoint.Expired()
			if a.sse != nil {
				n += a.sse.Expired()
			}
			emit(float64(n))
		}),
		a.telemetry.Observe(telemetry.SessionsHeld, func(emit telemetry.Emit) { emit(float64(a.stateful.Held())) }),
		a.telemetry.Observe(telemetry.ListensOpen, func(emit telemetry.Emit) { emit(float64(a.stateless.Listening())) }),
		a.telemetry.Observe(telemetry.AnswersIgnored, func(emit telemetry.Emit) {
			emit(float64(c.AnswersUnknown.Load()), telemetry.AttrOutcome.String("unknown"))
			emit(float64(c.AnswersDuplicate.Load()), telemetry.AttrOutcome.String("duplicate"))
		}),
		a.telemetry.Observe(telemetry.EventsDropped, func(emit telemetry.Emit) {
			emit(float64(c.DroppedQueue.Load()), telemetry.AttrBound.String("queue"))
			emit(float64(a.durable.dropped()), telemetry.AttrBound.String("log"))
			emit(float64(c.DroppedUnread.Load()), telemetry.AttrBound.String("unread"))
			emit(float64(c.DroppedUnwritten.Load()), telemetry.AttrBound.String("unwritten"))
		}))
}

func (a *App) observeTasks() (errs []error) {
	c := a.tasks.Counters()
	for name, n := range map[string]*atomic.Int64{
		telemetry.TasksCreated: &c.Created, telemetry.TasksUnacknowledged: &c.Unacknowledged, telemetry.TasksParked: &c.CallsParked, telemetry.TasksTakenOver: &c.Takeovers,
	} {
		errs = append(errs, a.telemetry.Observe(name, func(emit telemetry.Emit) { emit(float64(n.Load())) }))
	}
	return append(errs,
		a.telemetry.Observe(telemetry.TasksRunning, func(emit telemetry.Emit) { emit(float64(a.tasks.Running())) }),
		a.telemetry.Observe(telemetry.TasksQueued, func(emit telemetry.Emit) { emit(float64(a.tasks.Queued())) }),
		a.telemetry.Observe(telemetry.TasksAge, func(emit telemetry.Emit) { emit(a.tasks.Age().Seconds()) }),
		a.telemetry.Observe(telemetry.TasksQueueAge, func(emit telemetry.Emit) { emit(a.tasks.QueueAge().Seconds()) }),
		a.telemetry.Observe(telemetry.TasksEnded, func(emit telemetry.Emit) {
			emit(float64(c.Completed.Load()), telemetry.AttrOutcome.String("completed"))
			emit(float64(c.Failed.Load()), telemetry.AttrOutcome.String("failed"))
			emit(float64(c.Cancelled.Load()), telemetry.AttrOutcome.String("cancelled"))
		}))
}

// backendStates are all states of a backend.
var backendStates = []backend.State{backend.Connecting, backend.Ready, backend.Down}

func (a *App) observeBackends() (errs []error) {
	each := func(name string, fn func(b *backend.Backend, s backend.Status, emit telemetry.Emit)) {
		errs = append(errs, a.telemetry.Observe(name, func(emit telemetry.Emit) {
			for _, b := range a.pool.Backends() {
				fn(b, b.Status(), emit)
			}
		}))
	}
	value := func(name string, of func(backend.Status) float64) {
		each(name, func(b *backend.Backend, s backend.Status, emit telemetry.Emit) {
			emit(of(s), telemetry.AttrBackend.String(b.Name()))
		})
	}
	value(telemetry.BackendUp, func(s backend.Status) float64 { return one(s.State == backend.Ready) })
	value(telemetry.BackendCalls, func(s backend.Status) float64 { return float64(s.Calls) })
	value(telemetry.BackendWatches, func(s backend.Status) float64 { return float64(s.Watches) })
	value(telemetry.BackendProblems, func(s backend.Status) float64 { return float64(len(s.Problems) + len(a.Problems(s.Name))) })
	each(telemetry.BackendInState, func(b *backend.Backend, s backend.Status, emit telemetry.Emit) {
		for _, state := range backendStates {
			emit(one(s.State == state), telemetry.AttrBackend.String(b.Name()), telemetry.AttrBackendState.String(state.String()))
		}
	})
	each(telemetry.CatalogAge, func(b *backend.Backend, s backend.Status, emit telemetry.Emit) {
		if !s.Loaded.IsZero() {
			emit(time.Since(s.Loaded).Seconds(), telemetry.AttrBackend.String(b.Name()))
		}
	})
	each(telemetry.CatalogEntries, func(b *backend.Backend, _ backend.Status, emit telemetry.Emit) {
		c := b.Catalog()
		for list, n := range map[string]int{
			"tools": len(c.Tools), "resources": len(c.Resources), "templates": len(c.Templates), "prompts": len(c.Prompts),
		} {
			emit(float64(n), telemetry.AttrBackend.String(b.Name()), telemetry.AttrKind.String(list))
		}
	})
	return errs
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
