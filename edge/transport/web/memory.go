package web

import (
	"io"
	"math"
	"net/http"
	"net/netip"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Memory that is charged for every request: for the goroutine, the buffers of the connection, a
// small body and a small response.
const (
	// RequestBytes is charged for a POST. It includes a body of at most smallBody bytes.
	RequestBytes = 32 << 10
	smallBody    = 8 << 10
	// StreamBytes is charged for an open idle stream.
	StreamBytes = 16 << 10
)

// Charge begins the reservation of a request of a principal at an address, as from Address. Its
// owner releases it when the exchange has ended.
func (g *Guard) Charge(mem *budget.Reservation, p mcp.Principal, address netip.Addr) {
	h := g.o.Holder
	if h == nil && g.o.Budget != nil {
		h = mcp.HolderOf(g.o.Budget, p, address)
	}
	*mem = h.Begin()
}

// Overloaded refuses a request for lack of memory, with 503, and closes the connection, because its
// body may be unread.
func (g *Guard) Overloaded(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	g.Refuse(w, http.StatusServiceUnavailable, err.Error())
}

// initialAlloc is the memory that is allocated for an announced length before its bytes have arrived.
const initialAlloc = 64 << 10

// read reads a body of n bytes, or to its end if n is negative. It allocates at most about twice
// the bytes that have arrived. It charges memory beyond a small body to mem first; a *budget.Full
// means that there is no more.
func read(r io.Reader, n int64, mem *budget.Reservation) ([]byte, error) {
	most := n
	if n < 0 {
		most = math.MaxInt64
	}
	room := min(most, initialAlloc)
	if n < 0 {
		room = smallBody
	}
	charged, err := charge(mem, room)
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, room)
	for {
		got, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+got]
		switch {
		case int64(len(body)) == n, n < 0 && err == io.EOF:
			return body, nil
		case err == io.EOF:
			return body, io.ErrUnexpectedEOF
		case err != nil:
			return body, err
		case len(body) < cap(body):
			continue
		}
		room = min(most, 2*int64(cap(body)))
		larger, err := charge(mem, room)
		if err != nil {
			return nil, err
		}
		body = append(make([]byte, 0, room), body...)
		mem.Shrink(budget.Requests, charged)
		charged = larger
	}
}

// charge charges the memory of a buffer beyond the charge of every request, and returns it.
func charge(mem *budget.Reservation, room int64) (int64, error) {
	if room <= smallBody {
		return 0, nil
	}
	return room, mem.Grow(budget.Requests, room)
}
