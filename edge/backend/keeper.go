package backend

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// keeper keeps one backend's catalog true. It runs in one goroutine, which alone uses its fields.
type keeper struct {
	b     *Backend
	parts [len(each)]part
	feeds [len(each)]*feed
	about *description
	retry *retry

	// seen is the epoch of the connection that was described.
	seen uint64
	// pending are the kinds to be read, from soon on; all are read, described anew, at full.
	pending    Kinds
	soon, full time.Time
	// told are the kinds that are known to have changed since they were last published.
	told Kinds
	// reflected is why nothing of the contract is served, as found on a connection.
	reflected struct {
		epoch uint64
		text  string
	}
}

// part is one kind: its last list, and since when and why it can no longer be read.
type part struct {
	list   *list
	failed time.Time
	err    error
}

func (p *part) fail(err error) {
	p.err = err
	if p.failed.IsZero() {
		p.failed = time.Now()
	}
}

// content is what a catalog is made of.
type content struct {
	lists    lists
	describe *pb.DescribeResponse
}

// idle is how long the keeper sleeps when nothing is due.
const idle = time.Hour

func (k *keeper) run(ctx context.Context) {
	k.retry = k.b.newRetry()
	k.about = &description{}
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Reset(k.step(ctx))
		select {
		case <-k.b.signals.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// step does what is due and returns when to look again.
func (k *keeper) step(ctx context.Context) time.Duration {
	s := k.take()
	now := time.Now()
	linked := s.link == connectivity.Ready
	switch {
	case !linked:
		k.lost(ctx, s.link)
	case s.epoch != k.seen:
		k.seen = s.epoch
		k.told = allKinds
		k.retry.reset()
		_ = k.readAll(ctx, true)
	case !now.Before(k.full):
		_ = k.readAll(ctx, false)
	case k.pending != 0 && !now.Before(k.soon):
		k.readSome(ctx, k.pending)
	}
	if ctx.Err() != nil {
		return 0
	}
	k.expire()
	k.publish()
	if linked {
		k.judge(ctx)
	}
	if linked || s.link == connectivity.TransientFailure {
		k.b.triedOnce.Do(func() { close(k.b.tried) })
	}
	return k.next(linked)
}

// take moves what the feeds asked for to the keeper.
func (k *keeper) take() signal {
	s := k.b.signals.take()
	k.pending |= s.dirty
	k.told |= s.told
	if s.told != 0 {
		k.b.private.drop()
	}
	return s
}

// lost notes that there is no connection. The catalog stays until it is stale.
func (k *keeper) lost(ctx context.Context, link connectivity.State) {
	err := fmt.Errorf("the connection to %s is %s", k.b.cfg.Target, link)
	if link == connectivity.TransientFailure {
		if reason := k.b.reason(ctx); reason != nil {
			err = reason
		}
	}
	if ctx.Err() != nil {
		return
	}
	for i := range k.parts {
		k.parts[i].fail(err)
	}
	switch {
	case link == connectivity.TransientFailure:
		k.b.enter(Down, err)
	case k.b.state() == Ready:
		k.b.enter(Connecting, nil)
	}
}

// readAll describes the backend and reads all its lists, feeds first. fresh: the connection is new.
// The error is Describe's; what fails later is kept with the kinds.
func (k *keeper) readAll(ctx context.Context, fresh bool) error {
	k.full = time.Now().Add(jitter(k.b.cfg.Refresh))
	k.pending = allKinds
	about, err := k.b.describe(ctx)
	if err != nil {
		k.full = time.Now().Add(k.retry.delay())
		k.soon = k.full
		for i := range k.parts {
			k.parts[i].fail(fmt.Errorf("calling Describe: %w", err))
		}
		return err
	}
	if !fresh {
		about.probed, about.subscribe = k.about.probed, k.about.subscribe
		about.completion, about.promptValues = k.about.completion, k.about.promptValues
	}
	k.about = about
	k.openFeeds(ctx, fresh)
	k.take()
	k.readSome(ctx, allKinds)
	if about.told == nil && !about.probed && k.pending == 0 {
		k.b.probe(ctx, about, k.parts[1].list.served, k.parts[2].list.served)
	}
	return nil
}

// openFeeds opens the feeds that the backend offers, ends those it no longer does, and waits until
// all have settled, but not for ever: a feed that starts later has its kind read again.
func (k *keeper) openFeeds(ctx context.Context, fresh bool) {
	for i, kind := range each {
		_, wanted := k.about.serves(kind)
		f := k.feeds[i]
		if f != nil && (!wanted || fresh && f.missing.Load()) {
			f.cancel()
			f = nil
		}
		if f == nil && wanted {
			f = k.b.openFeed(kind)
		}
		k.feeds[i] = f
	}
	patience := time.NewTimer(k.b.tune.settle)
	defer patience.Stop()
	for _, f := range k.feeds {
		if f == nil {
			continue
		}
		select {
		case <-f.settled:
		case <-ctx.Done():
		case <-patience.C:
			patience.Reset(0)
			f.slow = true
		}
	}
}

// readSome reads the lists of some kinds; those that fail stay pending.
func (k *keeper) readSome(ctx context.Context, kinds Kinds) {
	k.pending &^= kinds
	for i, kind := range each {
		if !kinds.Has(kind) {
			continue
		}
		if served, _ := k.about.serves(kind); !served {
			k.parts[i] = part{list: &list{}}
			continue
		}
		l, err := k.b.read(ctx, kind, nil)
		if err != nil {
			known := k.parts[i].err
			if (known == nil || known.Error() != err.Error()) && status.Code(err) != codes.Unavailable && ctx.Err() == nil {
				k.b.log.Warn("a list cannot be read; the one before it stays for a while", "kind", kind.String(), "error", err)
			}
			k.parts[i].fail(err)
			k.pending |= kind
			continue
		}
		k.parts[i] = part{list: l}
	}
	if k.pending != 0 {
		k.soon = time.Now().Add(k.retry.delay())
		return
	}
	k.retry.reset()
	k.soon = time.Now().Add(k.b.tune.gap)
	k.b.loaded()
}

// expire empties the lists that could not be read for too long.
func (k *keeper) expire() {
	for i := range k.parts {
		if p := &k.parts[i]; p.list != nil && !p.failed.IsZero() && time.Since(p.failed) >= k.b.cfg.StaleAfter {
			p.list = nil
		}
	}
}

// publish swaps the catalog if it differs and says what changed.
func (k *keeper) publish() {
	now := &content{}
	var feeds, private Kinds
	for i, kind := range each {
		now.lists[i] = k.parts[i].list
		if f := k.feeds[i]; f != nil && f.begun.Load() {
			feeds |= kind
		}
		if l := now.lists[i]; l != nil && l.private {
			private |= kind
		}
	}
	now.describe = k.about.response(&now.lists, feeds)
	c := now.lists.assemble(now.describe)
	before := k.b.Catalog()
	kinds, differs := changes(before, c)
	if before.Present {
		kinds |= k.told & private &^ k.pending
	}
	k.told &= k.pending
	if kinds == 0 && !differs {
		return
	}
	k.b.content.Store(now)
	k.b.private.drop()
	k.b.catalog.Store(c)
	k.b.changed(k.b, kinds)
}

// judge says how a connected backend is doing, and what it does wrong.
func (k *keeper) judge(ctx context.Context) {
	breaches, failures := k.problems()
	k.b.report(breaches, failures, k.nothing(ctx))
	var failure error
	working := false
	for i, kind := range each {
		if err := k.parts[i].err; err != nil {
			failure = fmt.Errorf("the list of %s cannot be read: %w", kind, err)
		} else {
			working = true
		}
	}
	if working {
		k.b.enter(Ready, failure)
	} else if k.b.conn.GetState() == connectivity.Ready {
		k.b.enter(Down, failure)
	}
}

// problems is what the backend does wrong, as far as it is known: breaches of the contract, and lists
// that cannot be read.
func (k *keeper) problems() (breaches, failures []string) {
	breaches = slices.Clone(k.about.problems)
	for i, kind := range each {
		p, f := &k.parts[i], k.feeds[i]
		switch {
		case f == nil:
		case f.missing.Load() && k.about.told != nil:
			breaches = append(breaches, fmt.Sprintf("Describe says that the change feed of %s is served, but it is UNIMPLEMENTED", kind))
		case f.slow && !f.begun.Load() && !f.missing.Load():
			breaches = append(breaches, fmt.Sprintf("the change feed of %s does not begin with started", kind))
		}
		if p.err != nil {
			failures = append(failures, fmt.Sprintf("the list of %s cannot be read: %v", kind, p.err))
			continue
		}
		if served, _ := k.about.serves(kind); served && k.about.told != nil && !p.list.served {
			breaches = append(breaches, fmt.Sprintf("Describe says that %s are served, but the list is UNIMPLEMENTED", kind))
		}
		breaches = append(breaches, p.list.problems...)
	}
	return breaches, failures
}

// next is how long nothing is due.
func (k *keeper) next(linked bool) time.Duration {
	due := time.Now().Add(idle)
	sooner := func(t time.Time) {
		if t.Before(due) {
			due = t
		}
	}
	if linked {
		sooner(k.full)
		if k.pending != 0 {
			sooner(k.soon)
		}
	}
	for i := range k.parts {
		if p := &k.parts[i]; p.list != nil && !p.failed.IsZero() {
			sooner(p.failed.Add(k.b.cfg.StaleAfter))
		}
	}
	return max(time.Until(due), 0)
}
