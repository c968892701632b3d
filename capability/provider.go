package capability

import (
	"context"
	"strings"
)

// ResourceProvider serves resources that come and go: a directory, a table. Its methods may be
// called concurrently.
type ResourceProvider interface {
	// List returns all resources, in a stable order. The URIs begin with the provider's prefix.
	List(ctx context.Context) ([]*Resource, error)
	// Read returns what is at a URI that begins with the prefix, listed or not. Errors are as in
	// AddResource; no contents and no error is NOT_FOUND.
	Read(ctx context.Context, c *Call, uri string) ([]*ResourceContents, error)
}

// ResourceWatcher is a ResourceProvider that sees changes. One that learns of them anyway calls
// Server.ResourceUpdated and Server.ResourcesChanged instead.
type ResourceWatcher interface {
	ResourceProvider
	// Watch begins to watch and returns: from then on updated is called with every URI that changed,
	// and listChanged when List would answer differently, until stop is called. It runs while anyone
	// watches, once at a time.
	Watch(updated func(uri string), listChanged func()) (stop func(), err error)
}

// provided is a provider in its place.
type provided struct {
	prefix   string
	provider ResourceProvider
	watch    shared
}

// Provide serves every URI that begins with prefix by p, after exact resources and templates; of
// several prefixes the longest that fits. It panics when the prefix is empty or taken.
func (s *Server) Provide(prefix string, p ResourceProvider) {
	s.mu.Lock()
	for _, other := range s.providers {
		if other.prefix == prefix {
			s.mu.Unlock()
			panic("capability: the prefix " + quote(prefix) + " has a provider already")
		}
	}
	if prefix == "" {
		s.mu.Unlock()
		panic("capability: a provider needs a prefix of its URIs, such as \"notes://\"")
	}
	entry := &provided{prefix: prefix, provider: p}
	if w, ok := p.(ResourceWatcher); ok {
		entry.watch.begin = func() (stop func(), err error) {
			defer guard(s.log, "watch of "+prefix, &Call{}, &err)
			return w.Watch(s.ResourceUpdated, s.ResourcesChanged)
		}
	}
	s.providers = append(s.providers[:len(s.providers):len(s.providers)], entry)
	s.mu.Unlock()
	s.ResourcesChanged()
}

// provider returns the provider of a URI, or nil.
func (s *Server) provider(uri string) *provided {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var best *provided
	for _, p := range s.providers {
		if strings.HasPrefix(uri, p.prefix) && (best == nil || len(p.prefix) > len(best.prefix)) {
			best = p
		}
	}
	return best
}

func (s *Server) allProviders() []*provided {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.providers
}
