package main

import (
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// pulse is the watches of a backend's resources. All change when it beats.
type pulse struct {
	mu      sync.Mutex
	watches map[string]int // by URI
	beat    chan struct{}  // closed at the next beat
}

func newPulse() *pulse {
	return &pulse{watches: map[string]int{}, beat: make(chan struct{})}
}

// beats changes all resources.
func (p *pulse) beats() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.beat)
	p.beat = make(chan struct{})
}

// watched returns the URIs that are watched.
func (p *pulse) watched() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.watches))
}

func (p *pulse) add(uri string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches[uri] += n; p.watches[uri] == 0 {
		delete(p.watches, uri)
	}
}

func (p *pulse) next() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.beat
}

// WatchResource implements the contract.
func (h *holder) WatchResource(in *pb.WatchResourceRequest, s grpc.ServerStreamingServer[pb.WatchResourceResponse]) error {
	if h.pulse == nil {
		return status.Error(codes.Unimplemented, "nothing can be watched")
	}
	h.pulse.add(in.GetUri(), 1)
	defer h.pulse.add(in.GetUri(), -1)
	if err := s.Send(&pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Started{Started: &pb.WatchStarted{}}}); err != nil {
		return err
	}
	for {
		select {
		case <-h.pulse.next():
		case <-s.Context().Done():
			return s.Context().Err()
		}
		if err := s.Send(&pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Updated{Updated: &pb.ResourceUpdated{}}}); err != nil {
			return err
		}
	}
}
