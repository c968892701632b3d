package stateful

import (
	"crypto/rand"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// drawID draws the id of a request to a client: a random integer from 1 to 2^31 - 1. Some clients
// answer every request with a number as its id and hold it in 32 bits.
func drawID() int64 {
	n, _ := rand.Int(rand.Reader, big.NewInt(math.MaxInt32)) // never fails
	return n.Int64() + 1
}

// number returns a copy of a reply whose questions have distinct ids. The message of a question is
// its params without an id, or with an id that the session already uses and that is drawn again.
func (e *Era) number(r *call.Reply) *call.Reply {
	next := *r
	next.Asks = slices.Clone(r.Asks)
	drawn := make(map[int64]bool, len(next.Asks))
	for i := range next.Asks {
		a := &next.Asks[i]
		params := a.Message
		if a.ID != "" {
			params, _ = jsonrpc.Member(a.Message, "params")
		}
		n := e.draw()
		for drawn[n] {
			n = e.draw()
		}
		drawn[n] = true
		a.ID = strconv.FormatInt(n, 10)
		a.Message = jsonrpc.AppendRequest(make([]byte, 0, len(params)+128), jsonrpc.IntID(n), string(a.Method), params)
	}
	return &next
}

// askOf returns the ask of a response: the text of the id. Languages whose only number type is the
// float print a fraction, which is removed. Empty means that there is no such ask.
func askOf(id jsonrpc.ID) string {
	text, _, _ := strings.Cut(id.String(), ".")
	return text
}
