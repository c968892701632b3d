package catalog

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
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
	Shared   atomic.Pointer[View]
	overlay  atomic.Pointer[overlay.Overlay]
	// schemaWork is Options.SchemaWork.
	schemaWork int

	// Private caches the views of callers with private lists, by privateKey.
	Private *weighted.Cache[string, *View]
}

// maxOwnBytes bounds the private lists of cached views, in bytes of their encoding. A view holds
// their entries and their rendering under each requested revision.
const maxOwnBytes = 32 << 20

func newViews(backends func() []*backend.Backend, report *reporter, o *Options) *views {
	s := &views{backends: backends, names: o.Names, report: report, schemaWork: o.SchemaWork}
	s.overlay.Store(o.Overlay)
	s.Private = weighted.New[string, *View](o.PrivateViews, maxOwnBytes)
	s.refresh()
	return s
}

// refresh rebuilds the shared view and returns the previous one, nil at first, and the new one. It
// must not be called concurrently.
func (s *views) refresh() (before, after *View) {
	before = s.Shared.Load()
	backends := s.backends()
	parts := make([]part, len(backends))
	for i, b := range backends {
		parts[i] = part{Backend: b, Catalog: b.Catalog()}
	}
	parts = arrange(parts, before, s.names)
	form := s.showing()
	if before != nil && before.sameParts(parts) && before.overlay == form.overlay {
		return before, before
	}
	after = newView(parts, before, s.report, form)
	s.Shared.Store(after)
	if before != nil && len(parts) < len(before.Parts) {
		s.Private.Purge() // They may have a backend that was removed.
	}
	return before, after
}

// showing returns how entries are shown now.
func (s *views) showing() showing { return showing{s.overlay.Load(), s.schemaWork} }

// Of returns the view of a caller. It is one atomic load if no backend has private lists.
func (s *views) Of(ctx context.Context, p mcp.Principal) (*View, error) {
	v := s.Shared.Load()
	if !v.private {
		return v, nil
	}
	return s.own(ctx, p, v, func(int) bool { return true })
}

// forCall returns the view that serves a request. If the request names something, only the private
// lists of backends that may have it are read. Others are used as cached.
func (s *views) forCall(ctx context.Context, call *mcp.Call) (*View, error) {
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
// cached ones of others. Lists that cannot be read are missing from it, and failed is set. It fails
// only when ctx ends.
func (s *views) own(ctx context.Context, p mcp.Principal, shared *View, needed func(rank int) bool) (*View, error) {
	parts := slices.Clone(shared.Parts)
	failed, err := s.ownParts(ctx, p, parts, needed)
	if err != nil {
		return nil, err
	}
	form := showing{shared.overlay, s.schemaWork}
	if shared.sameParts(parts) {
		return shared, nil
	}
	key := privateKey(p)
	if failed != nil {
		key += "\x00" // kept beside the view without failures
	}
	prev, known := s.Private.Get(key)
	if known && prev.sameParts(parts) && prev.overlay == form.overlay {
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

// ownBytes returns the length of the encoding of a view's private lists.
func (v *View) ownBytes() (sum int) {
	for i := range v.Parts {
		sum += v.Parts[i].Catalog.OwnBytes
	}
	return sum
}

// ownParts sets the caller's own catalogs in parts. Catalogs that are not needed are used only if
// cached. failed is why the last unreadable one is missing. err is set when ctx ends.
func (s *views) ownParts(ctx context.Context, p mcp.Principal, parts []part, needed func(rank int) bool) (failed, err error) {
	var missing []int
	for i := range parts {
		if !parts[i].Catalog.Private {
			continue
		}
		if c := parts[i].Backend.KeptFor(p); c != nil {
			parts[i].set(c)
		} else if !needed(i) {
			parts[i].lose(s.names)
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
			parts[i].lose(s.names)
		}
	}
	return failed, nil
}

// known returns the cached view of the caller, without asking backends.
func (s *views) known(p mcp.Principal) *View {
	v := s.Shared.Load()
	if v.private {
		if own, ok := s.Private.Get(privateKey(p)); ok {
			return own
		}
	}
	return v
}

// privateKey returns a key that is equal only for callers with equal private lists. It contains
// everything that backends may learn of the caller.
func privateKey(p mcp.Principal) string {
	if p.Anonymous() {
		return ""
	}
	var space [128]byte
	return string(p.AppendIdentity(space[:0], slices.Sorted(maps.Keys(p.Forwarded))))
}
