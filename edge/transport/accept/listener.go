package accept

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options are the bounds of a Listener. The zero value has none.
type Options struct {
	// Max bounds the open connections. 0 means no bound.
	Max int
	// MaxPerAddress bounds those of one address, counted by [mcp.CountedAddress]. 0 means no bound.
	MaxPerAddress int
	// Trusted reports which addresses are exempt from MaxPerAddress. nil means none.
	Trusted func(netip.Addr) bool
	// WriteTimeout bounds a write without a deadline. 0 means no bound.
	WriteTimeout time.Duration
	// Refusal returns the bytes to send before a refused connection is closed. nil sends nothing.
	Refusal func(message string) []byte
	// Secure wraps a refused connection, for example with TLS, for sending Refusal. Its handshake
	// is bounded by the time to read the refusal. nil does not wrap it.
	Secure func(net.Conn) net.Conn
	// Telemetry counts the refusals. It may be nil.
	Telemetry *telemetry.Telemetry
	// Logger logs them, at most every ten seconds. nil uses slog.Default.
	Logger *slog.Logger
}

// Listener accepts connections as [Conn], within its bounds. On a further connection it sends
// Options.Refusal and closes it. It is safe for concurrent use.
type Listener struct {
	net.Listener
	o        Options
	refusals refusals
	// full and addressFull report refusals for Max and for MaxPerAddress.
	full, addressFull report
	// readLimit bounds read deadlines, as a duration from now in nanoseconds. 0 means no bound.
	readLimit atomic.Int64

	mu        sync.Mutex
	open      map[*Conn]struct{}
	byAddress map[netip.Addr]int
}

// NewListener returns a listener that accepts connections from l and closes l when it is closed.
// Accepted connections outlive it.
func NewListener(l net.Listener, o Options) *Listener {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Listener{
		Listener: l, o: o, refusals: newRefusals(o.Max),
		full:        report{log: o.Logger, what: "connections are refused: their limit is reached", bound: telemetry.BoundConnections, limit: o.Max},
		addressFull: report{log: o.Logger, what: "connections of an address are refused: its limit is reached", bound: telemetry.BoundAddress, limit: o.MaxPerAddress},
		open:        map[*Conn]struct{}{},
		byAddress:   map[netip.Addr]int{},
	}
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if accepted := l.admit(c); accepted != nil {
			return accepted, nil
		}
	}
}

const (
	fullMessage    = "this server has reached its limit of connections: try again later"
	addressMessage = "your address has reached its limit of connections: close some, or try again later"
)

// admit counts a connection, or refuses it and returns nil.
func (l *Listener) admit(c net.Conn) *Conn {
	peer := addressOf(c)
	counted := netip.Addr{}
	if l.o.MaxPerAddress > 0 && (l.o.Trusted == nil || !l.o.Trusted(peer)) {
		counted = mcp.CountedAddress(peer)
	}
	accepted := &Conn{Conn: c, l: l, address: counted}
	switch l.add(accepted) {
	case admitted:
		return accepted
	case full:
		l.refuse(c, &l.full, fullMessage, peer)
	case addressFull:
		l.refuse(c, &l.addressFull, addressMessage, peer)
	}
	return nil
}

type verdict uint8

const (
	admitted verdict = iota
	full
	addressFull
)

func (l *Listener) add(c *Conn) verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.o.Max > 0 && len(l.open) >= l.o.Max {
		return full
	}
	if c.address.IsValid() {
		if l.byAddress[c.address] >= l.o.MaxPerAddress {
			return addressFull
		}
		l.byAddress[c.address]++
	}
	l.open[c] = struct{}{}
	return admitted
}

func (l *Listener) remove(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	if !c.address.IsValid() {
		return
	}
	if l.byAddress[c.address]--; l.byAddress[c.address] == 0 {
		delete(l.byAddress, c.address)
	}
}

func (l *Listener) refuse(c net.Conn, r *report, message string, peer netip.Addr) {
	l.o.Telemetry.Hit(r.bound)
	r.refused(peer)
	var answer []byte
	if l.o.Refusal != nil {
		answer = l.o.Refusal(message)
	}
	if l.o.Secure != nil {
		c = l.o.Secure(c)
	}
	l.refusals.refuse(c, answer)
}

// Open returns the number of open connections.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// LimitReads bounds to d the time for which a connection's server waits for the rest of a request,
// from now on or from the beginning of the wait. 0 removes the bound.
func (l *Listener) LimitReads(d time.Duration) {
	l.readLimit.Store(int64(d))
	l.mu.Lock()
	open := make([]*Conn, 0, len(l.open))
	for c := range l.open {
		open = append(open, c)
	}
	l.mu.Unlock()
	for _, c := range open {
		c.applyReadLimit()
	}
}

// addressOf returns the address of a connection's peer; invalid if it has none.
func addressOf(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// report logs refusals, at most every ten seconds, with their number since the last line.
type report struct {
	log   *slog.Logger
	what  string
	bound telemetry.Bound
	limit int
	// sometimes and times belong to the goroutine of Accept.
	sometimes rate.Sometimes
	times     int
}

// reportEvery is the shortest interval between two log lines of a report.
const reportEvery = 10 * time.Second

func (r *report) refused(peer netip.Addr) {
	r.times++
	r.sometimes.Interval = reportEvery
	r.sometimes.Do(func() {
		r.log.Warn(r.what, "bound", r.bound.String(), "limit", r.limit, "address", peer, "refused", r.times)
		r.times = 0
	})
}
