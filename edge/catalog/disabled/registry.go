package disabled

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/ownership"
)

const (
	// MaxEntries bounds the entries of a List.
	MaxEntries = 256
	// MaxName bounds the name of an ID, and that of a tool's backend, in bytes.
	MaxName = 1024
	// MaxReason bounds a reason, in bytes.
	MaxReason = 1024
	// readInterval is the interval at which the Store is read.
	readInterval = time.Second
	// exchangeTimeout is the timeout of one exchange with the Store.
	exchangeTimeout = 5 * time.Second
)

// Store keeps records by name for all replicas, and announces changes. It is safe for concurrent use.
type Store interface {
	// Digests returns the digests of all values by their keys. A digest is the time of its value in milliseconds of Unix time, in 16
	// hexadecimal digits, a point and Unstamped.Sum.
	Digests(ctx context.Context) (map[string]string, error)
	// Values returns the values of the keys that exist.
	Values(ctx context.Context, keys []string) (map[string][]byte, error)
	// Stamp stores a value with the time of the Store's clock and returns that time, in milliseconds
	// of Unix time. It uses a later time if the clock is not after u.After and the time of the
	// replaced value. It announces the change to all replicas; some may miss it.
	Stamp(ctx context.Context, key string, u Unstamped) (at int64, err error)
	// Supersede stores the values whose digests are greater than the stored ones, and deletes the
	// keys of drop whose stored digests are those of drop. It does so atomically.
	Supersede(ctx context.Context, set map[string]ownership.Value, drop map[string]string) error
	// OnAnnounced sets the function that is called when the Store should be read: after a Stamp, and
	// after announcements may have been missed. It must not block. Call OnAnnounced before the Store
	// is used.
	OnAnnounced(fn func())
}

// Unstamped is the encoding of a value without its time. The Store inserts the time between Head
// and Tail, in decimal digits.
type Unstamped struct {
	Head, Tail []byte
	// Sum is the digest without the time.
	Sum string
	// After is the greatest time of the records that the replica knows, in milliseconds of Unix
	// time.
	After int64
}

// Options are the settings of a Registry. The zero value is usable.
type Options struct {
	// Store shares the records with other replicas. nil keeps them in this process.
	Store Store
	// Logger logs changes. nil uses slog.Default.
	Logger *slog.Logger
}

// Errors of Enable and Disable. They also return errors of the Store.
var (
	ErrFull        = fmt.Errorf("%d tools, backends and sets are disabled, which is the limit: enable some of them, or disable a backend instead of its tools", MaxEntries)
	ErrNotDisabled = errors.New("it is not disabled")
)

// errSuperseded means that an act has no effect, because the stored record has a time in the far
// future.
var errSuperseded = errors.New("the state has a record of this name from a time in the far future, which supersedes the change")

// NotFoundError means that no object has the name.
type NotFoundError struct {
	Message string
	// Name is the name that was not found. Known are the names of the existing objects of its kind.
	Name  string
	Known []string
}

func (e *NotFoundError) Error() string { return e.Message }

// Registry holds the list of disabled objects. It is safe for concurrent use.
type Registry struct {
	o       Options
	list    atomic.Pointer[List]
	changed func(*List)
	wake    chan struct{}
	// started is the time of New. read is the time of the last read of the Store; nil before the
	// first one.
	started time.Time
	read    atomic.Pointer[time.Time]

	// mu serializes exchanges with the Store, and guards the fields below.
	mu    sync.Mutex
	known records
	// failed is true after a failure that was logged, until an exchange succeeds.
	failed bool
}

// New returns a Registry with nothing disabled.
func New(o Options) *Registry {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	r := &Registry{o: o, changed: func(*List) {}, wake: make(chan struct{}, 1), started: time.Now(), known: records{}}
	if o.Store != nil {
		o.Store.OnAnnounced(func() {
			select {
			case r.wake <- struct{}{}:
			default:
			}
		})
	}
	return r
}

// OnChange sets the function that is called with each new list that has other IDs. Calls do not
// overlap. It may call only List of the Registry. Call OnChange before other methods.
func (r *Registry) OnChange(fn func(*List)) { r.changed = fn }

// List returns the list that this replica knows. nil means that nothing is disabled.
func (r *Registry) List() *List { return r.list.Load() }

// Shared reports whether the list is stored, so that other replicas have it, and this one after a
// restart.
func (r *Registry) Shared() bool { return r.o.Store != nil }

// Loaded reports whether the Store was read at least once. Until then this replica must not serve
// anything. It is true without a Store.
func (r *Registry) Loaded() bool { return r.o.Store == nil || r.read.Load() != nil }

// Age returns the time since the Store was last read, or since New before the first read. This
// replica may still serve an object that another one has disabled in that time. It is 0 without a
// Store.
func (r *Registry) Age() time.Duration {
	if r.o.Store == nil {
		return 0
	}
	if read := r.read.Load(); read != nil {
		return time.Since(*read)
	}
	return time.Since(r.started)
}

// Load reads the Store. Until then List returns nil. Without a Store it does nothing. It returns
// the error of the Store.
func (r *Registry) Load(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.exchange(ctx)
}

// Run follows the Store until ctx ends: it reads the Store after each announcement, and every
// second. Without a Store it returns at once.
func (r *Registry) Run(ctx context.Context) {
	if r.o.Store == nil {
		return
	}
	t := time.NewTicker(readInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-r.wake:
		}
		r.exchangeLogged(ctx)
	}
}

// exchangeLogged exchanges records once. It logs a failure unless the previous exchange failed, too.
func (r *Registry) exchangeLogged(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.exchange(bounded)
	if err != nil && !r.failed && ctx.Err() == nil {
		r.o.Logger.Warn("what operators disable on other replicas cannot be read; retrying", "error", err)
	}
	r.failed = err != nil
}

// Disable disables an object on all replicas and returns its entry with the time. e.Since is
// ignored. If the object is already disabled, e replaces its entry. The error is ErrFull, or that
// of the Store. After an error this replica is unchanged; after one of the Store, the Store may
// have the change.
func (r *Registry) Disable(ctx context.Context, e Entry) (Entry, error) {
	done, err := r.act(ctx, record{
		Kind: e.Kind, Name: e.Name, Backend: e.Backend, Canonical: e.Canonical, Reason: e.Reason, Issuer: e.Issuer, Subject: e.Subject, SubjectIsClient: e.SubjectIsClient,
	}, func(known bool) error {
		if !known && len(r.List().Entries()) >= MaxEntries {
			return ErrFull
		}
		return nil
	})
	return done.entry(), err
}

// Enable enables the object with the ID of e on all replicas. e also has the operator. The error is
// ErrNotDisabled or, as for Disable, that of the Store.
func (r *Registry) Enable(ctx context.Context, e Entry) error {
	_, err := r.act(ctx, record{
		Kind: e.Kind, Name: e.Name, Backend: e.Backend, Enabled: true, Issuer: e.Issuer, Subject: e.Subject, SubjectIsClient: e.SubjectIsClient,
	}, func(known bool) error {
		if !known {
			return ErrNotDisabled
		}
		return nil
	})
	return err
}

// act stores an act and applies it here, unless refuses returns an error. isDisabled reports
// whether the ID is disabled now.
func (r *Registry) act(ctx context.Context, a record, refuses func(isDisabled bool) error) (record, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.exchange(ctx); err != nil {
		return a, err
	}
	was, known := r.known[a.id().key()]
	if err := refuses(known && !was.Enabled); err != nil {
		return a, err
	}
	if r.o.Store == nil {
		a.At = max(time.Now().UnixMilli(), r.known.last()+1)
	} else {
		at, err := r.o.Store.Stamp(ctx, a.id().key(), withoutTime(a, r.known.last()))
		if err != nil {
			return a, err
		}
		a.At = at
	}
	if !r.known.add(encode(a)) {
		return a, errSuperseded
	}
	r.known.prune()
	r.apply()
	return a, nil
}

// exchange reads the records that this replica lacks, and writes the ones that the Store lacks, for
// example because it was emptied. The caller holds r.mu.
func (r *Registry) exchange(ctx context.Context) error {
	if r.o.Store == nil {
		return nil
	}
	there, err := r.o.Store.Digests(ctx)
	if err != nil {
		return err
	}
	var wanted []string
	for key, digest := range there {
		if r.known[key].value.Digest != digest {
			wanted = append(wanted, key)
		}
	}
	changed := false
	if len(wanted) > 0 {
		values, err := r.o.Store.Values(ctx, wanted)
		if err != nil {
			return err
		}
		for key, raw := range values {
			if s, ok := decode(key, there[key], raw); ok {
				changed = r.known.add(s) || changed
			}
		}
	}
	before := maps.Clone(r.known)
	r.known.prune()
	if changed {
		r.apply()
	}
	now := time.Now()
	r.read.Store(&now)
	return r.restore(ctx, there, before)
}

// restore writes the records that the Store lacks, and deletes the pruned ones. The caller holds
// r.mu.
func (r *Registry) restore(ctx context.Context, there map[string]string, before records) error {
	set := map[string]ownership.Value{}
	for key, s := range r.known {
		if there[key] != s.value.Digest {
			set[key] = s.value
		}
	}
	drop := map[string]string{}
	for key := range before {
		if _, kept := r.known[key]; !kept && there[key] != "" {
			drop[key] = there[key]
		}
	}
	if len(set)+len(drop) == 0 {
		return nil
	}
	return r.o.Store.Supersede(ctx, set, drop)
}

// apply publishes the list of the known records, and logs its changes. The caller holds r.mu.
func (r *Registry) apply() {
	was, now := r.list.Load(), r.known.list()
	if slices.Equal(was.Entries(), now.Entries()) {
		return
	}
	r.list.Store(now)
	if now == nil || was == nil || !maps.Equal(was.ids, now.ids) { // A changed reason has no effect on clients.
		r.changed(now)
	}
	for _, e := range now.Entries() {
		if !slices.Contains(was.Entries(), e) {
			r.o.Logger.Warn("an operator has disabled a "+string(e.Kind)+", until it is enabled again",
				string(e.Kind), cmp.Or(e.Canonical, e.Name), "operator", e.Subject, "issuer", e.Issuer, "reason", e.Reason)
		}
	}
	for _, e := range was.Entries() {
		if now == nil || !now.ids[e.ID] {
			by := r.known[e.key()] // zero if it was pruned
			r.o.Logger.Info("a "+string(e.Kind)+" that an operator had disabled is enabled again",
				string(e.Kind), cmp.Or(e.Canonical, e.Name), "operator", by.Subject, "issuer", by.Issuer)
		}
	}
}
