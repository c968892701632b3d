package ownership

import (
	"log/slog"
	"slices"
	"sync"
)

// DefaultBytes is the default limit of the names stored per backend, in bytes.
const DefaultBytes = 1 << 20

// Options are the settings of a Registry. The zero value is usable.
type Options struct {
	// Store shares the names with other replicas. nil keeps them in this process.
	Store Store
	// Bytes is the maximum size of the names stored per backend. 0 means DefaultBytes. Names beyond
	// it are not owned while the backend is unreachable.
	Bytes int
	// Logger logs warnings. nil uses slog.Default.
	Logger *slog.Logger
}

// Registry stores the names that each backend listed last, and the order of precedence of the
// backends. It is safe for concurrent use.
type Registry struct {
	o Options

	mu       sync.Mutex
	entries  map[string]*entry
	order    []string // the order in effect; nil before the first
	deferred bool     // the configuration has another order that is not in effect yet
	changed  func()
	wake     chan struct{}
	sync     synced
}

// entry holds the names of one backend.
type entry struct {
	// configured is true if the backend is in the configuration; its names are then shared.
	configured bool
	// present is true if the backend is reachable, so that this replica's lists are authoritative.
	present bool
	listed  *Names
	// own are names that only some callers see.
	own *Names
	// kept is the union of both, within the limit. nil means that it must be recomputed.
	kept *Names
	// value is the entry's value for the Store. Zero means that it must be recomputed.
	value Value
	// digest is the digest of the value last written to or read from the Store. Empty means never.
	digest string
	// large is true after the warning about too many names.
	large bool
}

// New returns an empty Registry.
func New(o Options) *Registry {
	if o.Bytes <= 0 {
		o.Bytes = DefaultBytes
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Registry{o: o, entries: map[string]*entry{}, changed: func() {}, wake: make(chan struct{}, 1)}
}

// OnChange sets the function that is called after unknown names or another order were read from the
// Store. It must not block. Call OnChange before Load and Run.
func (r *Registry) OnChange(fn func()) { r.changed = fn }

// Holder is the current state of a backend.
type Holder struct {
	Name string
	// Configured is false for a discovered backend, whose names are not shared.
	Configured bool
	// Names are the names that it lists now, with the stored names of lists that cannot be read.
	// nil means that the backend is unreachable.
	Names *Names
}

// Update sets the backends, in the order of the configuration. It returns the order of precedence,
// as indexes of holders. Names of other backends are dropped.
func (r *Registry) Update(holders []Holder) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[string]bool{}
	for _, h := range holders {
		known[h.Name] = true
		e := r.entries[h.Name]
		if e == nil {
			e = &entry{}
			r.entries[h.Name] = e
		}
		e.configured = h.Configured
		e.present = h.Names != nil
		if h.Names != nil && !h.Names.Equal(e.listed) {
			e.listed, e.kept, e.value = h.Names, nil, Value{}
			r.markDirty()
		}
	}
	for name := range r.entries {
		if !known[name] {
			delete(r.entries, name)
			r.markDirty()
		}
	}
	return r.arrange(holders)
}

// Kept returns the stored names of a backend, or nil. The pointer stays the same until they change.
func (r *Registry) Kept(name string) *Names {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keptOf(name, r.entries[name])
}

// keptOf returns the stored names of an entry, which may be nil. The caller holds r.mu.
func (r *Registry) keptOf(name string, e *entry) *Names {
	switch {
	case e == nil || e.listed == nil && e.own == nil:
		return nil
	case e.kept != nil:
		return e.kept
	}
	all := e.listed
	if all == nil {
		all = &Names{}
	}
	if e.own != nil {
		all = all.with(e.own)
	}
	var dropped int
	if e.kept, dropped = all.bounded(r.o.Bytes); dropped > 0 && !e.large {
		e.large = true
		r.o.Logger.Warn("a backend has more names than are stored: while it is unreachable, another backend may own the rest; "+
			"configure prefix and uris for it, or raise advanced.name-bytes", "backend", name, "names", dropped, "bytes", r.o.Bytes)
	}
	return e.kept
}

// SharedAndOwn returns the stored names of a backend in two parts: those that every caller sees, and those
// that only some callers see. Both are nil if there are none.
func (r *Registry) SharedAndOwn(name string) (listed, own *Names) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[name]; e != nil {
		return e.listed, e.own
	}
	return nil, nil
}

// Own adds names that a backend shows to some callers only.
func (r *Registry) Own(name string, n *Names) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[name]
	if e == nil {
		return // The backend was removed meanwhile.
	}
	if r.addOwn(e, n) {
		r.markDirty()
	}
}

// addOwn adds to the names that some callers see, and reports whether there is a new one. The
// caller holds r.mu.
func (r *Registry) addOwn(e *entry, n *Names) bool {
	all := &Names{}
	if e.own != nil {
		all = e.own
	}
	if all = all.with(n); all.Equal(e.own) || all.empty() {
		return false
	}
	if _, dropped := all.bounded(r.o.Bytes); dropped > 0 {
		all = n // The limit is reached: start over, because earlier callers may not return.
	}
	e.own, e.kept, e.value = all, nil, Value{}
	return true
}

// arrange returns the order in effect. The caller holds r.mu.
func (r *Registry) arrange(holders []Holder) []int {
	wanted := make([]string, 0, len(holders))
	for _, h := range holders {
		if h.Configured {
			wanted = append(wanted, h.Name)
		}
	}
	inEffect := wanted
	if was := r.rearranged(wanted); was != nil {
		inEffect = was
		if !r.deferred {
			r.o.Logger.Warn("the order of the backends was changed, but unreachable backends own names by the previous order: the new one takes effect when they are reachable, or removed from the configuration",
				"order", wanted, "in_effect", inEffect)
		}
		r.deferred = true
	} else {
		r.deferred = false
		if !slices.Equal(r.order, wanted) {
			r.order = wanted
			r.markDirty()
		}
	}
	at := map[string]int{}
	for i, name := range inEffect {
		at[name] = i
	}
	out := make([]int, len(holders))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return positionOf(at, &holders[a]) - positionOf(at, &holders[b])
	})
	return out
}

// positionOf returns the position of a holder in the order. Discovered backends are last.
func positionOf(at map[string]int, h *Holder) int {
	if !h.Configured {
		return len(at)
	}
	return at[h.Name]
}

// rearranged returns the previous order, with new backends at their place in wanted, if an
// unreachable backend that owns names has another place there than in wanted. Otherwise it returns
// nil. The caller holds r.mu.
func (r *Registry) rearranged(wanted []string) []string {
	var before []string
	for _, name := range r.order {
		if slices.Contains(wanted, name) {
			before = append(before, name)
		}
	}
	both := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return !slices.Contains(before, name) })
	moved := false
	for _, name := range before {
		e := r.entries[name]
		away := e != nil && !e.present && !r.keptOf(name, e).empty()
		moved = moved || away && !sameBefore(before, both, name)
	}
	if !moved {
		return nil
	}
	for i, name := range wanted {
		if slices.Contains(before, name) {
			continue
		}
		to := 0
		if i > 0 {
			to = slices.Index(before, wanted[i-1]) + 1
		}
		before = slices.Insert(before, to, name)
	}
	return before
}

// sameBefore reports whether the same backends precede name in both orders.
func sameBefore(a, b []string, name string) bool {
	first, second := slices.Clone(a[:slices.Index(a, name)]), slices.Clone(b[:slices.Index(b, name)])
	slices.Sort(first)
	slices.Sort(second)
	return slices.Equal(first, second)
}

// markDirty makes Run write the changes soon. The caller holds r.mu.
func (r *Registry) markDirty() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
