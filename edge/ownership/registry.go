package ownership

import (
	"log/slog"
	"slices"
	"sync"
)

// DefaultBytes bounds what is remembered of one backend.
const DefaultBytes = 1 << 20

// Options are the settings of a Registry. The zero value is usable.
type Options struct {
	// Store shares what is remembered with other replicas; nil: it is kept in this process.
	Store Store
	// Bytes bounds the names remembered of one backend; 0: DefaultBytes. What is beyond it is not its own while it is away.
	Bytes int
	// Logger; nil: slog.Default().
	Logger *slog.Logger
}

// Registry remembers which names each backend listed last, and in which order backends win over each other. All methods
// are safe for concurrent use.
type Registry struct {
	o Options

	mu       sync.Mutex
	entries  map[string]*entry
	order    []string // as it was adopted last; nil: never
	deferred bool     // the configuration has another order, which waits
	changed  func()
	wake     chan struct{}
	sync     synced
}

// entry is what is remembered of one backend.
type entry struct {
	// configured: it is in the configuration, and so it is shared with other replicas.
	configured bool
	// present: the backend is there, and this replica knows best what it lists.
	present bool
	listed  *Names
	// own are names that only some callers are shown.
	own *Names
	// kept is both together, within the bound; nil: not made since they changed.
	kept *Names
	// value is what the Store is to have of it; its zero value: not made since that changed.
	value Value
	// digest is that of the Store's value as it was written or read last; empty: never.
	digest string
	// large: what was too much was reported.
	large bool
}

// New makes a Registry that remembers nothing yet.
func New(o Options) *Registry {
	if o.Bytes <= 0 {
		o.Bytes = DefaultBytes
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Registry{o: o, entries: map[string]*entry{}, changed: func() {}, wake: make(chan struct{}, 1)}
}

// OnChange has fn called after names or the order were read from the Store that this replica did not know. It must not
// block. Call it before Load and Run.
func (r *Registry) OnChange(fn func()) { r.changed = fn }

// Holder is a backend as the configuration and its connection have it now.
type Holder struct {
	Name string
	// Configured is false for a backend that was discovered: what is remembered of it is not shared.
	Configured bool
	// Names are what it lists now, with those that are remembered for the lists that cannot be read; nil: it is away.
	Names *Names
}

// Update takes in which backends there are, in the order of the configuration, and returns the order in which they win
// over each other, as indexes of holders. What is remembered of others is forgotten.
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
			r.dirty()
		}
	}
	for name := range r.entries {
		if !known[name] {
			delete(r.entries, name)
			r.dirty()
		}
	}
	return r.arrange(holders)
}

// Kept returns what is remembered of a backend; nil: nothing is. The pointer stays the same until that changes.
func (r *Registry) Kept(name string) *Names {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keptOf(name, r.entries[name])
}

// keptOf makes what is kept of an entry, which may be nil. r.mu is held.
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
		r.o.Logger.Warn("a backend has more names than are remembered: while it is away, another backend may take the last of them; "+
			"give it a prefix and uris, or raise limits.name-bytes", "backend", name, "names", dropped, "bytes", r.o.Bytes)
	}
	return e.kept
}

// Apart returns what is remembered of a backend in its two parts: what it lists for everybody, and what it showed to some callers only; nil:
// nothing is.
func (r *Registry) Apart(name string) (listed, own *Names) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[name]; e != nil {
		return e.listed, e.own
	}
	return nil, nil
}

// Own notes names that a backend shows to some callers only.
func (r *Registry) Own(name string, n *Names) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[name]
	if e == nil {
		return // It was taken out meanwhile.
	}
	if r.addOwn(e, n) {
		r.dirty()
	}
}

// addOwn adds to the names that some callers were shown, and reports whether there is a new one. r.mu is held.
func (r *Registry) addOwn(e *entry, n *Names) bool {
	all := &Names{}
	if e.own != nil {
		all = e.own
	}
	if all = all.with(n); all.Equal(e.own) || all.empty() {
		return false
	}
	if _, dropped := all.bounded(r.o.Bytes); dropped > 0 {
		all = n // The bound is reached: begin anew, since the callers of before may not come back.
	}
	e.own, e.kept, e.value = all, nil, Value{}
	return true
}

// arrange returns the order that is in effect. r.mu is held.
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
			r.o.Logger.Warn("the order of the backends was changed, and backends that are away own names by the order before: it takes effect when they are back, or taken out of the configuration",
				"order", wanted, "in_effect", inEffect)
		}
		r.deferred = true
	} else {
		r.deferred = false
		if !slices.Equal(r.order, wanted) {
			r.order = wanted
			r.dirty()
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
		return place(at, &holders[a]) - place(at, &holders[b])
	})
	return out
}

// place is a holder's in the order; those that were discovered come last.
func place(at map[string]int, h *Holder) int {
	if !h.Configured {
		return len(at)
	}
	return at[h.Name]
}

// rearranged returns the order before, with backends that are new at the place that wanted gives them, if a backend that
// is away and owns names has another place in it than in wanted; else nil. r.mu is held.
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

// sameBefore reports whether the same backends stand before name in both orders.
func sameBefore(a, b []string, name string) bool {
	first, second := slices.Clone(a[:slices.Index(a, name)]), slices.Clone(b[:slices.Index(b, name)])
	slices.Sort(first)
	slices.Sort(second)
	return slices.Equal(first, second)
}

// dirty has Run write what changed soon. r.mu is held.
func (r *Registry) dirty() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
