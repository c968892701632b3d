package app

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// generation is what the edge puts in force together from one reading of its settings: backends,
// catalog, sets, policy, hooks, quotas and redaction. Its life:
//
//	config.Reader.Read ─► open ─► await ─► swap ─► release of the one before
//	                       └─ an error: release, and the one before stays
//
// It is immutable once it is in force.
type generation struct {
	*config.Generation
	// number counts the generations of this process, from 1. since is when it was put in force.
	number int64
	since  time.Time
	// before is the previous generation. It is nil if there is none, or if an operator has replaced
	// it by rolling back to this one. rolledBack is then true, even after the file was changed to
	// the same content.
	before     *config.Generation
	rolledBack bool

	backends []openBackend
	// discovered are the discovered backends that were opened for the generation before it was in force.
	discovered []openBackend
	server     policyServer
	hooks      []openHook
	// replacement adds and removes backends. nil for the first generation.
	replacement *backend.Replacement
}

// newBackendsWait bounds the time for which new backends of a generation, which may be unreachable or
// slow, delay its swap. Until then the replaced ones serve.
const newBackendsWait = 10 * time.Second

// exchanges counts the swaps that changed a part.
type exchanges struct{ catalog, policy, quotas atomic.Int64 }

// first returns the generation of the settings at the start, without its policy server.
func (a *App) first() (*generation, error) {
	read, err := a.settings.reader.First()
	if err != nil {
		return nil, err
	}
	g := &generation{Generation: read, number: 1, since: time.Now()}
	if g.hooks, err = a.openHooks(read, nil); err != nil {
		return nil, err
	}
	g.backends, err = a.opener(g).open(&read.Config, nil)
	return g, err
}

// opener returns the opener of the backends of a generation, whose hooks are open.
func (a *App) opener(g *generation) *opener {
	return &opener{tls: &a.tls, with: a.identityOf, lists: g.lists(a.log), learned: a.learned, log: a.log}
}

// exchange puts the settings of read in force, as a whole. After an error none of them is in force.
// It must not be called concurrently. files are the names of the changed files.
func (a *App) exchange(ctx context.Context, read *config.Generation, rolledBack bool, files []string) error {
	was := a.current.Load()
	next, err := a.open(ctx, read, was)
	if err != nil {
		a.release(next, was)
		a.closeServices(next.discovered)
		return read.Config.Locate(err)
	}
	if next.rolledBack = rolledBack; !rolledBack {
		next.before = was.Generation
	}
	bounded, cancel := context.WithTimeout(ctx, newBackendsWait)
	untried := next.replacement.Await(bounded)
	cancel()
	if len(untried) > 0 && ctx.Err() == nil {
		a.log.Warn("settings are put in force before every new backend was tried: the lists of the others follow as list changes",
			"backends", strings.Join(untried, ", "), "waited", newBackendsWait)
	}
	parts := a.swap(was, next)
	a.release(was, next)
	a.log.Info("changed settings are in force", "config", a.cfg.File, "generation", next.number, "digest", next.short(), "changed", strings.Join(parts, ", "), "files", strings.Join(files, ", "))
	a.warnOfChange(was, next)
	return nil
}

// open opens the files and creates the connections of a generation, without connecting. It reuses
// parts of was with equal settings. After an error the result has the parts that were opened.
func (a *App) open(ctx context.Context, read *config.Generation, was *generation) (next *generation, err error) {
	next = &generation{Generation: read, number: was.number + 1, server: was.server}
	if err = checkDescriptors(ctx, &read.Config, was.backends); err != nil {
		return next, err
	}
	if next.hooks, err = a.openHooks(read, was.hooks); err != nil {
		return next, err
	}
	if next.backends, err = a.opener(next).open(&read.Config, was.backends); err != nil {
		return next, err
	}
	if asked := externalOf(&read.Config); !reflect.DeepEqual(asked, was.server.settings) {
		if next.server, err = a.newExternal(asked); err != nil {
			return next, err
		}
	}
	if err = a.checkServiceFiles(ctx, &read.Config, &was.Config); err != nil {
		return next, err
	}
	if next.replacement, err = a.pool.Prepare(configs(next.backends)); err != nil {
		return next, err
	}
	if next.discovered = a.openServices(next); len(next.discovered) > 0 {
		next.replacement.PrepareServices(configs(next.discovered))
	}
	return next, nil
}

// swap puts a generation in force, and returns the parts that differ from the one before.
func (a *App) swap(was, next *generation) (parts []string) {
	changed := func(part string, is bool, n *atomic.Int64) bool {
		if is {
			n.Add(1)
			parts = append(parts, part)
		}
		return is
	}
	changed("backends", !sameBackends(was, next) || !reflect.DeepEqual(was.Config.Kubernetes, next.Config.Kubernetes), new(atomic.Int64))
	changed("sets", !sameSets(was, next), new(atomic.Int64))
	changed("catalog", !was.Overlay.Equal(next.Overlay), &a.exchanges.catalog)
	byPolicy := changed("policy", next.Policy != nil && (next.Policy.ID() != was.Policy.ID() || next.server != was.server), &a.exchanges.policy)
	byPolicy = byPolicy || next.Policy != nil && !next.Policy.SamePlaces(was.Policy)
	changed("redact", !reflect.DeepEqual(was.Config.Redact, next.Config.Redact), new(atomic.Int64))
	byHooks := changed("hooks", !sameHooks(was, next), new(atomic.Int64))
	next.since = time.Now()
	a.startHooks(next)
	if next.server != was.server {
		a.startExternal(next.server)
	}
	a.keepClaims(was, next) // until the policy of was has decided for the last time
	a.cluster.mu.Lock()     // before the locks of the catalog, as for a change in the cluster
	defer a.cluster.mu.Unlock()
	a.dispatch.Catalog().Replace(next.Overlay, next.Overlays(), func() {
		next.replacement.Apply(a.cfg.Calls.Lifetime)
		a.discover(next)
		next.replacement.DiscardServices()
		if byPolicy {
			a.access.SetPolicy(next.Policy, next.server.client)
		}
		if byHooks {
			a.setHooks(next)
		}
		changed("quotas", a.quotas != nil && a.quotas.SetRules(next.Quotas), &a.exchanges.quotas)
		a.redaction.Set(next.Masker)
		a.current.Store(next)
		a.openSets(next)
	}, readsNewClaims(was, next))
	a.serving.Store(next.number)
	a.keepClaims(next)
	if byPolicy {
		a.gone.add(was.Policy)
	}
	return parts
}

// release closes the parts that the generation g has opened and kept does not use.
func (a *App) release(g, kept *generation) {
	if g.server != kept.server {
		a.closeExternal(g.server)
	}
	a.releaseHooks(g, kept)
	for i := range g.backends {
		b := &g.backends[i]
		if b.files != nil && !slices.ContainsFunc(kept.backends, func(o openBackend) bool { return o.files == b.files }) {
			a.tls.Remove(b.files)
		}
	}
}

func sameBackends(a, b *generation) bool {
	return slices.EqualFunc(a.backends, b.backends, func(x, y openBackend) bool { return x.Name == y.Name && x.Revision == y.Revision })
}

// keepClaims makes principals keep the claims that the generations' policies and sets inspect, and
// those that their backends get.
func (a *App) keepClaims(of ...*generation) {
	if a.auth == nil {
		return
	}
	var keep auth.KeptClaims
	for _, g := range of {
		keep.Forwarded = append(keep.Forwarded, g.Config.ForwardedClaims()...)
		if g.Policy != nil {
			names, all := g.Policy.Claims()
			keep.Names, keep.All = append(keep.Names, names...), keep.All || all
		}
		for _, h := range g.Hooks {
			if h.When != nil {
				names, all := h.When.Claims()
				keep.Names, keep.All = append(keep.Names, names...), keep.All || all
			}
		}
		for _, s := range g.Sets {
			if s.When != nil {
				names, all := s.When.Claims()
				keep.Names, keep.All = append(keep.Names, names...), keep.All || all
			}
		}
	}
	slices.Sort(keep.Names)
	slices.Sort(keep.Forwarded)
	keep.Names, keep.Forwarded = slices.Compact(keep.Names), slices.Compact(keep.Forwarded)
	a.auth.KeepClaims(keep)
}

func sameSets(a, b *generation) bool {
	unplaced := func(g *generation) map[string]config.OwnedSet {
		all := g.Config.OwnedSets()
		for name, s := range all {
			s.Place = ""
			all[name] = s
		}
		return all
	}
	return reflect.DeepEqual(unplaced(a), unplaced(b))
}

// openSets makes the sets of a generation known to the authenticator.
func (a *App) openSets(g *generation) {
	if a.auth == nil {
		return
	}
	if err := a.auth.SetSets(authSets(g.Generation)); err != nil {
		a.log.Error("the metadata of the sets cannot be made", "error", err)
	}
}

// readsNewClaims reports whether a generation reads claims that the last one did not.
func readsNewClaims(was, next *generation) bool {
	beyond := func(had, names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(had, name) })
	}
	return policyReadsNewClaims(was.Policy, next.Policy) || beyond(was.Config.ForwardedClaims(), next.Config.ForwardedClaims())
}

// policyReadsNewClaims is readsNewClaims for policies, which may be nil.
func policyReadsNewClaims(was, next *policy.Policy) bool {
	if was == nil || next == nil {
		return false
	}
	had, all := was.Claims()
	names, any := next.Claims()
	return !all && (any || slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(had, name) }))
}

// warnOfChange logs the Warnings that the generation before did not cause.
func (a *App) warnOfChange(was, next *generation) {
	before := Warnings(was.Config)
	for _, w := range Warnings(next.Config) {
		if !slices.Contains(before, w) {
			a.log.Warn(w.Message, "setting", w.Setting)
		}
	}
}

// shortDigest is the number of digits of a digest that logs and records have.
const shortDigest = 12

func (g *generation) short() string { return g.Digest[:shortDigest] }

// recorded returns the digest that records of the audit have; empty without a file of settings.
func (a *App) recorded() string {
	if a.cfg.File == "" {
		return ""
	}
	return a.current.Load().short()
}

// observeGeneration registers the settings in force with telemetry.
func (a *App) observeGeneration() error {
	count := func(name string, is bool, n *atomic.Int64) error {
		if !is {
			return nil
		}
		return a.telemetry.Observe(name, func(emit telemetry.Emit) { emit(float64(n.Load())) })
	}
	return errors.Join(
		a.telemetry.Observe(telemetry.SettingsStale, func(emit telemetry.Emit) { emit(one(a.settings.stale.Load())) }),
		a.observeOwners(),
		a.telemetry.Observe(telemetry.SettingsRolledBack, func(emit telemetry.Emit) { emit(one(a.settings.rolledBack.Load())) }),
		a.telemetry.Observe(telemetry.SettingsGeneration, func(emit telemetry.Emit) { emit(float64(a.serving.Load())) }),
		count(telemetry.CatalogExchanges, a.cfg.File != "" || a.cfg.Catalog != nil, &a.exchanges.catalog),
		count(telemetry.QuotaExchanges, a.quotas != nil, &a.exchanges.quotas),
		count(telemetry.PolicyExchanges, a.access.Policy() != nil, &a.exchanges.policy),
	)
}
