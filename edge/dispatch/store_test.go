package dispatch

import (
	"context"
	"maps"
	"sync"

	"github.com/mcpedge/mcpedge/edge/ownership"
)

// memoryStore is an ownership.Store that several replicas in one process share.
type memoryStore struct {
	mu     sync.Mutex
	values map[string]ownership.Value
}

func (s *memoryStore) Digests(context.Context) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for name, v := range s.values {
		out[name] = v.Digest
	}
	return out, nil
}

func (s *memoryStore) Values(_ context.Context, names []string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]byte{}
	for _, name := range names {
		if v, ok := s.values[name]; ok {
			out[name] = v.Bytes
		}
	}
	return out, nil
}

func (s *memoryStore) Write(_ context.Context, set map[string]ownership.Value, drop []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]ownership.Value{}
	}
	maps.Copy(s.values, set)
	for _, name := range drop {
		delete(s.values, name)
	}
	return nil
}
