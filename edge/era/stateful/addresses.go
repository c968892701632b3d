package stateful

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// maxAddresses bounds the addresses that are tracked individually. Addresses beyond it share one
// limiter.
const maxAddresses = 1 << 16

// addresses limits the sessions that anonymous callers of one address begin: a burst of limit,
// which refills evenly over the period. It is safe for concurrent use.
type addresses struct {
	limit int
	each  rate.Limit

	mu sync.Mutex
	// begun maps the addresses that recently began sessions to their limiters.
	begun map[netip.Addr]*rate.Limiter
	// others limits the addresses without a limiter in begun.
	others *rate.Limiter
	swept  time.Time
}

func newAddresses(limit int, period time.Duration) *addresses {
	a := &addresses{limit: limit, each: rate.Limit(float64(limit) / period.Seconds()), begun: map[netip.Addr]*rate.Limiter{}}
	a.others = rate.NewLimiter(a.each, limit)
	return a
}

// begin counts a session. It returns false if its address has begun too many. An invalid address is
// not counted.
func (a *addresses) begin(from netip.Addr) bool {
	if !from.IsValid() {
		return true
	}
	return a.of(mcp.CountedAddress(from)).Allow()
}

// pause returns the delay after which an address at its limit may begin one more.
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

// sweep drops addresses whose burst has refilled, at most once a second. It returns false if it
// dropped none. The caller holds the lock.
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
