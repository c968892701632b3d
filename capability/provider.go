package capability

import (
	"context"
	"strings"
)

// ResourceProvider serves a set of resources that may change, such as a directory or a table. Its
// methods may be called concurrently.
type ResourceProvider interface {
	// List returns all resources, in a stable order. The URIs begin with the provider's prefix.
	List(ctx context.Context) ([]*Resource, error)
	// Read returns the contents of a URI that begins with the prefix, whether listed or not. Errors
	// are handled as in AddResource. No contents and a nil error mean NOT_FOUND.
	Read(ctx context.Context, c *Call, uri string) ([]*ResourceContents, error)
}

// ResourceWatcher is a ResourceProvider that detects changes. A provider that learns of changes in
// another way can call Server.ResourceUpdated and Server.ResourcesChanged instead.
type ResourceWatcher interface {
	ResourceProvider
	// Watch starts watching and returns. Until stop is called, it calls updated with the URI of
	// each changed resource, and listChanged if the result of List changes. The server keeps one
	// watch running while it has subscribers.
	Watch(updated func(uri string), listChanged func()) (stop func(), err error)
}

// provided is a provider with its prefix.
type provided struct {
	prefix   string
	provider ResourceProvider
	watch    shared
}

// Provide serves every URI that begins with prefix from p. Exact resources and templates have
// precedence; of several prefixes, the longest match wins. It panics if p is nil, or if the
// prefix is empty or has a provider.
func (s *Server) Provide(prefix string, p ResourceProvider) {
	if p == nil {
		panic("capability: the provider of " + quote(prefix) + " is nil")
	}
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
