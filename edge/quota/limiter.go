package quota

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Refused is the error of a call whose budget is exhausted.
type Refused struct {
	// Rule is the name of the rule.
	Rule string
	// Wait is the time until a call is available, above 0.
	Wait time.Duration
}

// Error implements error. The text is for clients.
func (r *Refused) Error() string {
	return fmt.Sprintf("the quota %q is used up: try again in %s", r.Rule, r.Wait.Round(time.Millisecond))
}

// Options of a Limiter.
type Options struct {
	// Rules are valid, see Rule.Validate. A call must be within the budgets of all rules that apply
	// to it.
	Rules []Rule
	// Store shares the budgets between replicas. nil keeps them in this process.
	Store Store
	// Logger logs failures and recoveries of the store. nil uses slog.Default.
	Logger *slog.Logger
}

// Limiter enforces rules. Safe for concurrent use.
type Limiter struct {
	rules  atomic.Pointer[[]limit]
	store  Store // nil if budgets are local
	local  Memory
	log    *slog.Logger
	leases sync.Map // of *lease by key
	// replicas is the last known number of replicas that share the budgets.
	replicas atomic.Int64
	away     atomic.Bool

	mu sync.Mutex // serializes SetRules, guards refused
	// refused counts the calls refused by each rule, including replaced ones.
	refused  map[string]*atomic.Int64
	unshared atomic.Int64
}

// limit is a rule in force with its count of refused calls.
type limit struct {
	Rule
	refused *atomic.Int64
}

// maxGone bounds the rules whose counts are kept, including replaced ones.
const maxGone = 1024

// New returns a Limiter. With a Store, Run must be called to return unused calls.
func New(o Options) *Limiter {
	x := &Limiter{store: o.Store, log: o.Logger, refused: map[string]*atomic.Int64{}}
	if x.log == nil {
		x.log = slog.Default()
	}
	x.replicas.Store(1)
	x.SetRules(o.Rules)
	return x
}

// SetRules replaces the rules by valid ones and reports whether they differ. Calls that were
// charged to a rule's budget stay charged if the rule keeps its name, up to the whole of the new
// budget.
func (x *Limiter) SetRules(rules []Rule) (exchanged bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if before := x.rules.Load(); before != nil && slices.EqualFunc(*before, rules, func(a limit, b Rule) bool { return a.equal(&b) }) {
		return false
	}
	if len(x.refused) >= maxGone {
		maps.DeleteFunc(x.refused, func(name string, _ *atomic.Int64) bool {
			return !slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == name })
		})
	}
	limits := make([]limit, len(rules))
	for i, r := range rules {
		if x.refused[r.Name] == nil {
			x.refused[r.Name] = new(atomic.Int64)
		}
		limits[i] = limit{r, x.refused[r.Name]}
	}
	x.rules.Store(&limits)
	return true
}

// Spend charges a call to the budgets of all rules that apply to it. It returns a *Refused if one
// of them is exhausted, and then charges none, or the error of ctx.
func (x *Limiter) Spend(ctx context.Context, c *Call) error {
	rules := *x.rules.Load()
	for i := range rules {
		r := &rules[i]
		if !r.about(c) {
			continue
		}
		wait, err := x.spend(ctx, r.key(c), r.Budget)
		if err == nil && wait > 0 {
			r.refused.Add(1)
			err = &Refused{Rule: r.Name, Wait: wait}
		}
		if err != nil {
			for j := range i {
				if before := &rules[j]; before.about(c) {
					x.refund(before.key(c), before.Budget)
				}
			}
			return err
		}
	}
	return nil
}

// spend charges one call to a key's budget. wait is 0 if it did, and otherwise the time until a
// call is available.
func (x *Limiter) spend(ctx context.Context, key string, b Budget) (wait time.Duration, err error) {
	if x.store == nil {
		_, wait, err = x.local.Take(ctx, key, b, 1)
		return wait, err
	}
	for {
		v, ok := x.leases.Load(key)
		if !ok {
			v, _ = x.leases.LoadOrStore(key, &lease{key: key, budget: b})
		}
		l := v.(*lease)
		if l.budget != b {
			x.retire(ctx, l)
			continue
		}
		if wait, ok, err = l.spend(ctx, x); ok {
			return wait, err
		}
	}
}

// retire ends a lease of a replaced budget.
func (x *Limiter) retire(ctx context.Context, l *lease) {
	l.mu.Lock()
	back := l.left
	l.left, l.ended = 0, true
	l.mu.Unlock()
	x.leases.CompareAndDelete(l.key, l)
	go x.giveBack(context.WithoutCancel(ctx), l, back)
}

// giveBack returns unused calls of a lease to the store. Calls that cannot be returned are lost
// until the budget regains them.
func (x *Limiter) giveBack(ctx context.Context, l *lease, n int) {
	if n == 0 || x.away.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	_ = x.store.Return(ctx, l.key, l.budget, n)
}

// refund returns one call that was charged and not made.
func (x *Limiter) refund(key string, b Budget) {
	switch {
	case x.store == nil:
		_ = x.local.Return(context.Background(), key, b, 1)
		return
	case x.away.Load():
		return // the share of this replica regains it
	}
	if v, ok := x.leases.Load(key); ok {
		l := v.(*lease)
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.ended {
			l.left++
		}
	}
}

// spendShare charges one call to this replica's share while the store is unavailable.
func (x *Limiter) spendShare(ctx context.Context, key string, b Budget) (wait time.Duration) {
	x.unshared.Add(1)
	_, wait, _ = x.local.Take(ctx, key, b.share(int(x.replicas.Load())), 1)
	return wait
}

func (x *Limiter) failed(err error) {
	if !x.away.Swap(true) {
		x.log.Warn("the quotas of all replicas cannot be reached: this one keeps to its share of them", "replicas", x.replicas.Load(), "error", err)
	}
}

func (x *Limiter) answered() {
	if x.away.Swap(false) {
		x.log.Info("the quotas of all replicas can be reached again")
	}
}

// Refusals calls fn with the number of calls that each rule has refused so far, including replaced
// rules.
func (x *Limiter) Refusals(fn func(rule string, n int64)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, n := range x.refused {
		fn(name, n.Load())
	}
}

// Unshared returns the number of calls that this replica has decided by its share of a budget.
func (x *Limiter) Unshared() int64 { return x.unshared.Load() }

// sweepEvery is the interval at which unused calls are returned. A call unused for two sweeps is
// returned within a second.
const sweepEvery = 500 * time.Millisecond

// settleTime is the time after a failure of the store for which a lower number of replicas is ignored:
// the others may not have reached the store again.
const settleTime = 5 * time.Second

// Run returns unused calls to the store and counts the replicas until ctx ends. Then it returns all
// calls. Without a Store it returns at once.
func (x *Limiter) Run(ctx context.Context) {
	if x.store == nil {
		return
	}
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	var fewer time.Time // from when a lower number of replicas is believed
	for {
		switch n, err := x.sharing(ctx); {
		case err != nil:
			fewer = time.Now().Add(settleTime)
		case int64(n) >= x.replicas.Load() || !time.Now().Before(fewer):
			x.replicas.Store(int64(n))
		}
		select {
		case <-t.C:
			x.sweep(context.WithoutCancel(ctx), false)
		case <-ctx.Done():
			x.sweep(context.WithoutCancel(ctx), true)
			return
		}
	}
}

func (x *Limiter) sharing(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	return x.store.Sharing(ctx)
}

// sweep returns unused calls of all leases; with all, every call.
func (x *Limiter) sweep(ctx context.Context, all bool) {
	now := time.Now()
	x.leases.Range(func(key, v any) bool {
		l := v.(*lease)
		back, ended := l.sweep(now, all)
		if ended {
			x.leases.CompareAndDelete(key, v)
		}
		x.giveBack(ctx, l, back)
		return true
	})
}
