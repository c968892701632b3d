package web

import (
	"io"
	"math"
	"net/http"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// What is charged whatever a request holds. It stands for the goroutine, the buffers of the connection, a small body
// and a small answer.
const (
	// RequestBytes of a POST. A body of at most smallBody bytes is a part of it.
	RequestBytes = 32 << 10
	smallBody    = 8 << 10
	// StreamBytes of an open stream that idles.
	StreamBytes = 16 << 10
)

// Charge makes mem what a request of a principal holds, empty yet. Its owner releases it when the exchange has ended.
func (g *Guard) Charge(mem *budget.Reservation, r *http.Request, p mcp.Principal) {
	h := g.o.Holder
	if h == nil && g.o.Budget != nil {
		h = mcp.HolderOf(g.o.Budget, p, g.Address(r))
	}
	*mem = h.Begin()
}

// Overloaded answers what there is no memory for, with 503, and closes the connection: its body may be unread.
func (g *Guard) Overloaded(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	g.Refuse(w, http.StatusServiceUnavailable, err.Error())
}

// atOnce is how much memory an announced length is worth before its bytes are there.
const atOnce = 64 << 10

// read reads a body of n bytes, or with a negative n to its end, into memory that is at most about twice what has
// arrived. What it takes beyond a small body is charged to mem before it is taken; an error that is a *budget.Full
// says that there is no more.
func read(r io.Reader, n int64, mem *budget.Reservation) ([]byte, error) {
	most := n
	if n < 0 {
		most = math.MaxInt64
	}
	room := min(most, atOnce)
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

// charge charges what a buffer takes beyond what each request is charged with, and returns it.
func charge(mem *budget.Reservation, room int64) (int64, error) {
	if room <= smallBody {
		return 0, nil
	}
	return room, mem.Grow(budget.Requests, room)
}
