package web

import (
	"hash/maphash"
	"net/http"
	"net/netip"
	"sync"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/accept"
)

// clients counts the requests in progress of each address. An address without any takes no memory.
// It is safe for concurrent use.
type clients struct {
	max    int
	seed   maphash.Seed
	shards [64]struct {
		mu    sync.Mutex
		count map[netip.Addr]int
	}
}

func newClients(most int) *clients {
	c := &clients{max: most, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].count = map[netip.Addr]int{}
	}
	return c
}

// acquire counts one more request of an address until release is called, once. false means that the
// address has reached the bound.
func (c *clients) acquire(a netip.Addr) (release func(), ok bool) {
	a = mcp.CountedAddress(a)
	sh := &c.shards[maphash.Comparable(c.seed, a)%uint64(len(c.shards))]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.count[a] >= c.max {
		return nil, false
	}
	sh.count[a]++
	return func() {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if sh.count[a]--; sh.count[a] == 0 {
			delete(sh.count, a)
		}
	}, true
}

// peer reports whether a request comes from one of the proxies.
func (p Proxies) peer(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && p.Trusts(peer.Addr().Unmap().WithZone(""))
}

// forwarded serves a request that a proxy forwarded. The request counts for the client address that
// the proxy names until it is answered, or until its stream, which may have taken the connection,
// is closed.
func (s *Server) forwarded(w http.ResponseWriter, r *http.Request) {
	release, ok := s.clients.acquire(s.o.Proxies.Address(r))
	if !ok {
		if s.o.Refused != nil {
			s.o.Refused()
		}
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", TypeJSON)
		RetryAfter(w, http.StatusServiceUnavailable, 0)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(Refusal("your address has as many requests under way as one may have: wait for some responses, or try again later"))
		return
	}
	conn, _ := r.Context().Value(connKey{}).(*accept.Conn)
	defer func() {
		if conn != nil && conn.Detached() {
			conn.OnClose(release)
			return
		}
		release()
	}()
	s.read(w, r)
}
