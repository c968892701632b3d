package catalog

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/translate"
	"github.com/mcpedge/mcpedge/internal/weighted"
)

// views holds the view that all callers share, and caches those of callers with private lists.
type views struct {
	backends func() []*backend.Backend
	names    *ownership.Registry
	report   *reporter
	// mu serializes refresh and replace.
	mu      sync.Mutex
	Shared  atomic.Pointer[View]
	overlay atomic.Pointer[overlay.Overlay]
	sets    atomic.Pointer[overlay.Sets]
	// disabled is what operators have disabled; nil if nothing is.
	disabled atomic.Pointer[disabled.List]
	narrow   viewOptions
	// access is Options.Visibility, schemaWork Options.SchemaWork.
	access     func() Visibility
	schemaWork int

	// Private caches the views of callers with private lists, by privateKey.
	Private *weighted.Cache[string, *View]
}

// maxOwnBytes bounds the private lists of cached views, in bytes of their encoding, with the
// indexes of their sets. A view has their entries and a rendering for each requested revision.
const maxOwnBytes = 32 << 20

func newViews(backends func() []*backend.Backend, narrow viewOptions, o *Options) *views {
	s := &views{backends: backends, names: o.Names, report: narrow.report, narrow: narrow, access: o.Visibility, schemaWork: o.SchemaWork}
	s.overlay.Store(o.Overlay)
	s.sets.Store(&o.Sets)
	s.narrow.indexes, s.narrow.work = &indexes{}, o.SchemaWork
	s.narrow.indexes.retain(o.Sets)
	s.Private = weighted.New[string, *View](o.PrivateViews, maxOwnBytes)
	s.refresh()
	return s
}

// refresh rebuilds the shared view and returns the previous one, nil at first, and the new one.
func (s *views) refresh() (before, after *View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rebuild()
}

// replace replaces the overlay and the sets, calls swap, which may replace backends and what
// Options.Visibility returns, and rebuilds the shared view: no view has some of the changes. It
// returns the results of refresh.
func (s *views) replace(o *overlay.Overlay, sets overlay.Sets, swap func()) (before, after *View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.overlay.Load().Equal(o) {
		s.overlay.Store(o)
	}
	if !s.sets.Load().Equal(sets) {
		s.sets.Store(&sets)
		s.narrow.indexes.retain(sets)
	}
	swap()
	return s.rebuild()
}

// disable replaces the list of disabled objects, and rebuilds the shared view. It returns the
// results of refresh.
func (s *views) disable(l *disabled.List) (before, after *View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disabled.Store(l)
	return s.rebuild()
}

// rebuild implements refresh. s.mu is locked.
func (s *views) rebuild() (before, after *View) {
	before = s.Shared.Load()
	backends := s.backends()
	parts := make([]part, len(backends))
	for i, b := range backends {
		parts[i] = part{Backend: b, Catalog: b.Catalog()}
	}
	parts = arrange(parts, before, s.names)
	form := s.showOptions()
	if before != nil && before.sameParts(parts) && before.shows(form) {
		return before, before
	}
	after = newView(parts, before, s.report, form)
	after.unmatched = after.unmatchedEntries(s.report)
	s.Shared.Store(after)
	if before != nil && slices.ContainsFunc(before.Parts, func(p part) bool { return !slices.Contains(backends, p.Backend) }) {
		s.Private.Purge() // They may have a backend that was removed.
	}
	return before, after
}

// showOptions returns how entries are shown now.
func (s *views) showOptions() showOptions {
	form := showOptions{overlay: s.overlay.Load(), sets: s.sets.Load(), disabled: s.disabled.Load(), work: s.schemaWork}
	if s.access != nil {
		form.access = s.access()
	}
	return form
}

// Of returns the view of a caller in a set; empty means the root. It is one atomic load at the root
// if no backend has private lists.
func (s *views) Of(ctx context.Context, set string, p mcp.Principal) (*View, error) {
	v, err := s.Shared.Load(), error(nil)
	if v.private {
		v, err = s.own(ctx, p, v, func(int) bool { return true })
	}
	return s.in(v, set), err
}

// in returns the part of a view, which may be nil, that a set has.
func (s *views) in(v *View, set string) *View {
	if v == nil || set == "" {
		return v
	}
	return v.in(set, &s.narrow)
}

// forCall returns the view that serves a request. If the request names an object, it reads only the
// private lists of backends that may have the object. It uses other lists as they are cached.
func (s *views) forCall(ctx context.Context, call *mcp.Call) (*View, error) {
	v, err := s.wholeForCall(ctx, call)
	return s.in(v, call.Set), err
}

// wholeForCall is forCall at the root.
func (s *views) wholeForCall(ctx context.Context, call *mcp.Call) (*View, error) {
	v := s.Shared.Load()
	if !v.private {
		return v, nil
	}
	may, named := v.contenders(call)
	if !named {
		return s.own(ctx, call.Principal, v, func(int) bool { return true })
	}
	for i := range v.Parts {
		if v.Parts[i].Catalog.Private && may(i) {
			return s.own(ctx, call.Principal, v, may)
		}
	}
	return v, nil
}

// ownAtOnce bounds the backends whose private lists are read concurrently for one caller.
const ownAtOnce = 16

// own returns the caller's own view, made from the private lists of the needed backends and the
// cached ones of others. Lists that cannot be read are missing from it, and failed is set. Those of
// disabled backends are not read. It fails only when ctx ends.
func (s *views) own(ctx context.Context, p mcp.Principal, shared *View, needed func(rank int) bool) (*View, error) {
	parts := slices.Clone(shared.Parts)
	failed, err := s.ownParts(ctx, p, parts, func(i int) bool {
		return needed(i) && !shared.disabled.HasBackend(parts[i].Backend.Name()) // A disabled backend gets no data of callers.
	})
	if err != nil {
		return nil, err
	}
	form := shared.showOptions(s.schemaWork)
	if shared.sameParts(parts) {
		return shared, nil
	}
	key := privateKey(p)
	if failed != nil {
		key += "\x00" // kept beside the view without failures
	}
	prev, known := s.Private.Get(key)
	if known && prev.sameParts(parts) && prev.shows(form) {
		return prev, nil
	}
	if !known {
		prev = shared
	}
	v := newView(parts, prev, s.report, form)
	v.failed = failed
	for i := range parts {
		if c := parts[i].Catalog; c.Private && c.Present && c != shared.Parts[i].Catalog {
			s.names.Own(parts[i].Backend.Name(), v.owners.names[i])
		}
	}
	s.Private.Add(key, v, v.ownBytes())
	return v, nil
}

// ownBytes returns the length of the encoding of a view's private lists, plus an estimate of its
// indexes.
func (v *View) ownBytes() (sum int) {
	for i := range v.Parts {
		sum += v.Parts[i].Catalog.OwnBytes
	}
	return sum + v.indexWeight()
}

// ownParts sets the caller's own catalogs in parts. Catalogs that are not needed are used only if
// they are cached. failed is why the last unreadable one is missing. err is set when ctx ends.
func (s *views) ownParts(ctx context.Context, p mcp.Principal, parts []part, needed func(rank int) bool) (failed, err error) {
	var missing []int
	for i := range parts {
		if !parts[i].Catalog.Private {
			continue
		}
		if c := parts[i].Backend.KeptFor(p); c != nil {
			parts[i].set(c)
		} else if !needed(i) {
			parts[i].dropLists(s.names)
		} else {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	return s.readParts(ctx, p, parts, missing)
}

// readParts reads the catalogs of the missing parts, at most ownAtOnce concurrently. Its results
// are those of ownParts.
func (s *views) readParts(ctx context.Context, p mcp.Principal, parts []part, missing []int) (failed, err error) {
	errs := make([]error, len(missing))
	var reading errgroup.Group
	reading.SetLimit(ownAtOnce)
	for n, i := range missing {
		reading.Go(func() error {
			c, err := parts[i].Backend.CatalogFor(ctx, p)
			if errs[n] = err; err == nil {
				parts[i].set(c)
			}
			return nil
		})
	}
	_ = reading.Wait()
	for n, i := range missing {
		switch {
		case errs[n] == nil:
		case ctx.Err() != nil:
			return nil, translate.Status(status.FromContextError(ctx.Err()).Err(), parts[i].Backend.Name(), parts[i].Backend.MaxMessageBytes())
		default:
			failed = translate.Status(errs[n], parts[i].Backend.Name(), parts[i].Backend.MaxMessageBytes())
			parts[i].dropLists(s.names)
		}
	}
	return failed, nil
}

// known returns the view of the caller in a set with the cached private lists, without asking
// backends.
func (s *views) known(set string, p mcp.Principal) *View { return s.viewReader(set, p)() }

// viewReader returns a function that returns the view that known returns at that time, even after a
// replacement. It makes no view itself.
func (s *views) viewReader(set string, p mcp.Principal) func() *View {
	shared := s.Shared.Load()
	if !shared.private {
		return func() *View { return s.in(shared, set) }
	}
	key := privateKey(p)
	own, ok := s.Private.Get(key)
	if !ok {
		return func() *View { return s.in(shared, set) }
	}
	return func() *View {
		if form := shared.showOptions(s.schemaWork); !own.shows(form) {
			made := newView(own.Parts, own, s.report, form)
			if s.Shared.Load() == shared {
				s.Private.Add(key, made, made.ownBytes())
			}
			return s.in(made, set)
		}
		return s.in(own, set)
	}
}

// privateKey returns a key that is equal only for callers with equal private lists. It contains all
// data of the caller that backends may get.
func privateKey(p mcp.Principal) string {
	if p.Anonymous() {
		return ""
	}
	var space [128]byte
	return string(p.AppendIdentity(space[:0], slices.Sorted(maps.Keys(p.Forwarded))))
}
