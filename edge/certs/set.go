package certs

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Interval is the interval at which files are read. A fault is reported at the second consecutive
// read that finds it.
const Interval = time.Second

// Set has all TLS endpoints of a process. The zero value is empty. It is safe for concurrent use.
type Set struct {
	mu      sync.Mutex
	sources []*Source
}

// Open calls [Open] and adds the endpoint to the set.
func (s *Set) Open(f Files, log *slog.Logger) (*Source, error) {
	source, err := Open(f, log)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources = append(s.sources, source)
	return source, nil
}

// Remove removes an endpoint from the set. Its files are then no longer read.
func (s *Set) Remove(source *Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources = slices.DeleteFunc(s.sources, func(other *Source) bool { return other == source })
}

// Sources returns the endpoints in the order in which they were opened.
func (s *Set) Sources() []*Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sources)
}

// Watch rereads the files of the endpoints in the set every Interval, until ctx ends.
func (s *Set) Watch(ctx context.Context) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, source := range s.Sources() {
			source.refresh()
		}
	}
}
