package backend

import (
	"time"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/dns"
)

// minResolve is the minimum time between two DNS queries for one target, even after connections
// broke.
const minResolve = time.Second

func init() { dns.SetMinResolutionInterval(minResolve) }

// scheduled makes DNS resolvers that query again on a schedule. gRPC's own queries again only when
// a connection breaks, so that it does not find added addresses.
type scheduled struct {
	resolver.Builder
	every time.Duration
}

func onSchedule(every time.Duration) resolver.Builder {
	return scheduled{Builder: resolver.Get("dns"), every: every}
}

// Build implements resolver.Builder.
func (s scheduled) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	r, err := s.Builder.Build(target, cc, opts)
	if err != nil {
		return nil, err
	}
	out := &scheduledResolver{Resolver: r, end: make(chan struct{}), ended: make(chan struct{})}
	go out.run(s.every)
	return out, nil
}

type scheduledResolver struct {
	resolver.Resolver
	end, ended chan struct{}
}

func (r *scheduledResolver) run(every time.Duration) {
	defer close(r.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.ResolveNow(resolver.ResolveNowOptions{})
		case <-r.end:
			return
		}
	}
}

// Close implements resolver.Resolver.
func (r *scheduledResolver) Close() {
	close(r.end)
	<-r.ended
	r.Resolver.Close()
}
