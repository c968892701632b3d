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

// refresher keeps one backend's catalog current. It runs in one goroutine, which alone uses its
// fields.
type refresher struct {
	b         *Backend
	parts     [len(singleKinds)]part
	feeds     [len(singleKinds)]*feed
	described *description
	retry     *retry

	// seen is the epoch of the connection that was described.
	seen uint64
	// pending are the kinds to be read at soon. At full, the backend is described again and all
	// kinds are read.
	pending    Kinds
	soon, full time.Time
	// gap is the least time between two reads that feeds trigger, and read is the time of the last
	// one. gap grows while a feed triggers each read as soon as it may.
	gap  time.Duration
	read time.Time
	// reported are the kinds that changed since they were last published.
	reported Kinds
	// undescribed is why the last Describe failed; nil if it succeeded.
	undescribed error
	// reflected caches, for one connection, why no service of the contract is served.
	reflected struct {
		epoch uint64
		text  string
	}
}

// part is one kind: its last list, and since when and why reading it fails.
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

// content is the source of a catalog.
type content struct {
	lists    lists
	describe *pb.DescribeResponse
}

// maxIdle is the time for which the refresher sleeps when nothing is due.
const maxIdle = time.Hour

func (r *refresher) run(ctx context.Context) {
	r.retry = r.b.newRetry()
	r.described = &description{}
	r.gap = r.b.tune.gap
	timer := time.NewTimer(maxIdle)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Reset(r.step(ctx))
		select {
		case <-r.b.signals.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// step runs the due work and returns the time until the next work is due.
func (r *refresher) step(ctx context.Context) time.Duration {
	s := r.take()
	now := time.Now()
	linked := s.link == connectivity.Ready
	switch {
	case !linked:
		r.disconnected(ctx, s.link)
	case s.epoch != r.seen:
		r.seen = s.epoch
		r.reported = allKinds
		r.retry.reset()
		_ = r.readAll(ctx, true)
	case !now.Before(r.full):
		_ = r.readAll(ctx, false)
	case r.pending != 0 && !now.Before(r.soon):
		r.readSome(ctx, r.pending)
	}
	if ctx.Err() != nil {
		return 0
	}
	r.expire()
	r.publish()
	if linked {
		r.updateStatus(ctx)
	}
	if linked || s.link == connectivity.TransientFailure {
		r.b.triedOnce.Do(func() { close(r.b.tried) })
	}
	return r.next(linked)
}

// take reads the signals. Kinds that were reported as changed are read after the gap at the
// earliest. The gap grows while reports are frequent, and returns to its minimum when there are
// none for a while.
func (r *refresher) take() signal {
	s := r.b.signals.take()
	r.reported |= s.reported
	if fresh := s.dirty &^ r.pending; fresh != 0 && r.pending == 0 {
		switch since := time.Since(r.read); {
		case since <= 2*r.gap:
			r.gap = min(2*r.gap, r.b.tune.gapMax)
		case since > 4*r.gap:
			r.gap = r.b.tune.gap
		}
		if soon := r.read.Add(r.gap); soon.After(r.soon) {
			r.soon = soon
		}
	}
	r.pending |= s.dirty
	return s
}

// disconnected records that there is no connection. The catalog remains until it is stale.
func (r *refresher) disconnected(ctx context.Context, link connectivity.State) {
	err := fmt.Errorf("the connection to %s is %s", r.b.cfg.Target, link)
	if link == connectivity.TransientFailure {
		if reason := r.b.reason(ctx); reason != nil {
			err = reason
		}
	}
	if ctx.Err() != nil {
		return
	}
	for i := range r.parts {
		r.parts[i].fail(err)
	}
	switch {
	case link == connectivity.TransientFailure:
		r.b.setState(Down, err)
	case r.b.state() == Ready:
		r.b.setState(Connecting, nil)
	}
}

// readAll describes the backend and reads all its lists, feeds first. fresh is true if the
// connection is new. The error is that of Describe; later errors are kept with the kinds.
func (r *refresher) readAll(ctx context.Context, fresh bool) error {
	r.full = time.Now().Add(jitter(r.b.cfg.Refresh))
	r.pending = allKinds
	about, err := r.b.describe(ctx)
	if err != nil && r.b.adapter == nil {
		err = fmt.Errorf("calling Describe: %w", err)
	}
	if r.undescribed = err; err != nil {
		r.full = time.Now().Add(r.retry.delay())
		r.soon = r.full
		for i := range r.parts {
			r.parts[i].fail(err)
		}
		return err
	}
	if !fresh {
		about.probed, about.subscribe = r.described.probed, r.described.subscribe
		about.completion, about.promptValues = r.described.completion, r.described.promptValues
	}
	r.described = about
	r.openFeeds(ctx, fresh)
	r.take()
	r.readSome(ctx, allKinds)
	if about.described == nil && !about.probed && r.pending == 0 {
		r.b.probe(ctx, about, r.parts[1].list.served, r.parts[2].list.served)
	}
	return nil
}

// openFeeds opens the feeds that the backend offers, ends those it no longer offers, and waits a
// bounded time until all have settled. A feed that starts later triggers another read of its kind.
func (r *refresher) openFeeds(ctx context.Context, fresh bool) {
	for i, kind := range singleKinds {
		_, wanted := r.described.serves(kind)
		f := r.feeds[i]
		if f != nil && (!wanted || fresh && f.missing.Load()) {
			f.cancel()
			f = nil
		}
		if f == nil && wanted {
			f = r.b.openFeed(kind)
		}
		r.feeds[i] = f
	}
	patience := time.NewTimer(r.b.tune.settle)
	defer patience.Stop()
	for _, f := range r.feeds {
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
func (r *refresher) readSome(ctx context.Context, kinds Kinds) {
	r.pending &^= kinds
	if r.reported&kinds != 0 {
		r.b.private.drop()
	}
	for i, kind := range singleKinds {
		if !kinds.Has(kind) {
			continue
		}
		if served, _ := r.described.serves(kind); !served {
			r.parts[i] = part{list: &list{}}
			continue
		}
		l, err := r.b.read(ctx, kind, nil)
		if err != nil {
			known := r.parts[i].err
			if (known == nil || known.Error() != err.Error()) && status.Code(err) != codes.Unavailable && ctx.Err() == nil {
				r.b.log.Warn("a list cannot be read; the previous one stays in use for a while", "kind", kind.String(), "error", clip(err))
			}
			r.parts[i].fail(err)
			r.pending |= kind
			continue
		}
		r.parts[i] = part{list: l}
	}
	if r.pending != 0 {
		r.soon = time.Now().Add(r.retry.delay())
		return
	}
	r.retry.reset()
	r.read = time.Now()
	r.soon = r.read.Add(r.b.tune.gap)
	r.b.markLoaded()
}

// expire drops the lists that could not be read for StaleAfter.
func (r *refresher) expire() {
	for i := range r.parts {
		if p := &r.parts[i]; p.list != nil && !p.failed.IsZero() && time.Since(p.failed) >= r.b.cfg.StaleAfter {
			p.list = nil
		}
	}
}

// publish swaps the catalog if it differs, and reports what changed.
func (r *refresher) publish() {
	now := &content{}
	var feeds, private Kinds
	for i, kind := range singleKinds {
		now.lists[i] = r.parts[i].list
		if f := r.feeds[i]; f != nil && f.begun.Load() {
			feeds |= kind
		}
		if l := now.lists[i]; l != nil && l.private {
			private |= kind
		}
	}
	now.describe = r.described.response(&now.lists, feeds)
	c := now.lists.assemble(now.describe)
	before := r.b.Catalog()
	kinds, differs := changes(before, c)
	if before.Present {
		kinds |= r.reported & private &^ r.pending
	}
	r.reported &= r.pending
	if kinds == 0 && !differs {
		return
	}
	r.b.content.Store(now)
	r.b.private.drop()
	r.b.catalog.Store(c)
	r.b.changed(r.b, kinds)
}

// updateStatus records the state and the problems of a connected backend.
func (r *refresher) updateStatus(ctx context.Context) {
	breaches, failures := r.problems()
	r.b.setProblems(breaches, failures, r.emptyReason(ctx))
	failure, working := r.undescribed, false
	for i, kind := range singleKinds {
		switch err := r.parts[i].err; {
		case err == nil:
			working = true
		case r.undescribed == nil:
			failure = fmt.Errorf("the list of %s cannot be read: %w", kind, err)
		}
	}
	if working {
		r.b.setState(Ready, failure)
	} else if r.b.conn.GetState() == connectivity.Ready {
		r.b.setState(Down, failure)
	}
}

// problems returns the known problems of the backend: violations of the contract, and lists that
// cannot be read.
func (r *refresher) problems() (breaches, failures []string) {
	breaches = slices.Clone(r.described.problems)
	if r.undescribed != nil {
		failures = append(failures, r.undescribed.Error())
	}
	for i, kind := range singleKinds {
		p, f := &r.parts[i], r.feeds[i]
		switch {
		case f == nil:
		case f.missing.Load() && r.described.described != nil:
			breaches = append(breaches, fmt.Sprintf("Describe says that the change feed of %s is served, but it is UNIMPLEMENTED", kind))
		case f.slow && !f.begun.Load() && !f.missing.Load():
			breaches = append(breaches, fmt.Sprintf("the change feed of %s does not begin with started", kind))
		}
		switch {
		case p.err != nil && r.undescribed != nil:
			continue
		case p.err != nil:
			failures = append(failures, fmt.Sprintf("the list of %s cannot be read: %v", kind, p.err))
			continue
		}
		if served, _ := r.described.serves(kind); served && r.described.described != nil && !p.list.served {
			breaches = append(breaches, fmt.Sprintf("Describe says that %s are served, but the list is UNIMPLEMENTED", kind))
		}
		breaches = append(breaches, p.list.problems...)
	}
	return breaches, failures
}

// next returns the time until something is due.
func (r *refresher) next(linked bool) time.Duration {
	due := time.Now().Add(maxIdle)
	sooner := func(t time.Time) {
		if t.Before(due) {
			due = t
		}
	}
	if linked {
		sooner(r.full)
		if r.pending != 0 {
			sooner(r.soon)
		}
	}
	for i := range r.parts {
		if p := &r.parts[i]; p.list != nil && !p.failed.IsZero() {
			sooner(p.failed.Add(r.b.cfg.StaleAfter))
		}
	}
	return max(time.Until(due), 0)
}
