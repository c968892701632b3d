package backend

import (
	"context"
	"time"

	"google.golang.org/grpc/connectivity"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Inspection is a backend outside a pool: it connects and is read on request only, and changes are
// not followed. Its clients may be used as those of any backend. Connect and Read must be called by
// one goroutine.
type Inspection struct {
	*Backend
}

// Inspect makes the backend without connecting. It fails as NewPool does. The caller must call
// Close.
func Inspect(cfg Config, opts Options) (*Inspection, error) {
	tune := opts.tune
	if tune == nil {
		tune = &defaultTuning
	}
	b, err := newBackend(cfg, opts, tune, func(*Backend, Kinds) {})
	if err != nil {
		return nil, err
	}
	return &Inspection{b}, nil
}

// Close ends the connections and all streams that Read opened, and waits for it.
func (i *Inspection) Close() { i.close() }

// Connect waits until the backend is connected, or until ctx ends; the error then is why. Failed
// attempts are repeated for the duration again; an attempt that is in progress then is the last.
func (i *Inspection) Connect(ctx context.Context, again time.Duration) error {
	i.conn.Connect()
	repeating, cancel := context.WithTimeout(ctx, again)
	defer cancel()
	for {
		state := i.conn.GetState()
		if state == connectivity.Ready {
			return nil
		}
		wait := ctx
		if state == connectivity.TransientFailure {
			wait = repeating
		}
		if i.conn.WaitForStateChange(wait, state) {
			continue
		}
		if err := i.reason(i.group.ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Survey is the result of reading a backend once.
type Survey struct {
	// Described is the answer of Describe; nil if it is not implemented, in which case the catalog
	// has the features found by probing.
	Described *pb.DescribeResponse
	// Catalog has the lists as the edge reads them. Never nil; not present if no list could be
	// read.
	Catalog *Catalog
	// Lists describe how each list was read, in the order tools, resources, prompts.
	Lists []Listing
	// Breaches are sentences: violations of the contract in Describe and the lists. Feeds are not
	// checked.
	Breaches []string
	// Failures are sentences: the lists that could not be read.
	Failures []string
	// Empty is why clients would see nothing of the backend; empty if they see something, or may
	// with a principal of their own.
	Empty string
	// Notes are the adapter's sentences about properties that the contract cannot express.
	Notes []string
	// Unannounced are sentences: the extensions in Describe that are not announced to clients.
	Unannounced []string
}

// Listing describes how the lists of one kind were read.
type Listing struct {
	Kind Kinds
	// Err is why they could not be read; if set, only Kind is set beside it.
	Err error
	// Served is false when the backend does not implement the service.
	Served bool
	// Feed is true if the change feed has begun.
	Feed bool
	// Private is true if a list depends on the principal.
	Private bool
}

// Read describes the backend, opens its change feeds and reads all its lists, once. The error is
// that of Describe; lists that cannot be read are reported in the survey.
func (i *Inspection) Read(ctx context.Context) (*Survey, error) {
	r := &refresher{b: i.Backend, retry: i.newRetry(), described: &description{}}
	if err := r.readAll(ctx, true); err != nil {
		return nil, err
	}
	s := &Survey{Described: r.described.described, Notes: i.notes()}
	var all lists
	for n, kind := range singleKinds {
		l := Listing{Kind: kind, Err: r.parts[n].err}
		all[n] = r.parts[n].list
		if l.Err == nil {
			f := r.feeds[n]
			l.Served, l.Private, l.Feed = all[n].served, all[n].private, f != nil && f.begun.Load()
		}
		s.Lists = append(s.Lists, l)
	}
	s.Catalog = all.assemble(r.described.response(&all, 0))
	s.Unannounced = i.NotCarried(s.Catalog.Describe.GetExtensionsJson())
	withoutFeeds := *r
	withoutFeeds.feeds = [len(singleKinds)]*feed{} // feeds are not checked
	s.Breaches, s.Failures = withoutFeeds.problems()
	s.Empty = r.emptyReason(ctx)
	return s, nil
}
