package stateful

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// maxAddresses bounds the addresses of which something is remembered. Beyond it the others share what one may have.
const maxAddresses = 1 << 16

// addresses bounds the sessions that anonymous callers begin, by their address: as many at once as the limit, and each
// comes back an equal part of the period after the one before. Safe for concurrent use.
type addresses struct {
	limit int
	each  rate.Limit

	mu sync.Mutex
	// begun are the addresses that have begun some lately.
	begun map[netip.Addr]*rate.Limiter
	// others is for those for which begun has no room.
	others *rate.Limiter
	swept  time.Time
}

func newAddresses(limit int, period time.Duration) *addresses {
	a := &addresses{limit: limit, each: rate.Limit(float64(limit) / period.Seconds()), begun: map[netip.Addr]*rate.Limiter{}}
	a.others = rate.NewLimiter(a.each, limit)
	return a
}

// begin counts a session, unless its address has begun too many. One without an address counts nowhere.
func (a *addresses) begin(from netip.Addr) bool {
	if !from.IsValid() {
		return true
	}
	return a.of(mcp.CountedAddress(from)).Allow()
}

// pause is how long it takes until an address may begin one more.
func (a *addresses) pause() time.Duration {
	return time.Duration(float64(time.Second) / float64(a.each)).Round(time.Millisecond)
}

func (a *addresses) of(address netip.Addr) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.begun[address]
	if l != nil {
		return l
	}
	if len(a.begun) >= maxAddresses && !a.sweep(time.Now()) {
		return a.others
	}
	l = rate.NewLimiter(a.each, a.limit)
	a.begun[address] = l
	return l
}

// sweep forgets the addresses that may begin as many as any, at most once a second. False: there was none. The lock
// is held.
func (a *addresses) sweep(now time.Time) bool {
	if now.Sub(a.swept) < time.Second {
		return false
	}
	a.swept = now
	for address, l := range a.begun {
		if l.TokensAt(now) >= float64(a.limit) {
			delete(a.begun, address)
		}
	}
	return len(a.begun) < maxAddresses
}
