package stateful

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/state"
)

// maxDraws bounds how often the ids of one asking are drawn. Two sets of them share one by chance once in
// millions of askings.
const maxDraws = 16

// drawID draws the id of a request to a client: a random integer from 1 to 2^31 - 1. Clients exist that answer
// every request with a number as its id, and that hold it in 32 bits.
func drawID() int64 {
	var b [4]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		if n := binary.BigEndian.Uint32(b[:]) >> 1; n > 0 {
			return int64(n)
		}
	}
}

// number gives the asks ids, no two of them the same, and makes their messages. The store refuses ids that
// the session has: they are to be drawn again.
func (e *Era) number(asks []state.Ask, params []json.RawMessage) {
	drawn := make(map[int64]bool, len(asks))
	for i := range asks {
		n := e.draw()
		for drawn[n] {
			n = e.draw()
		}
		drawn[n] = true
		a := &asks[i]
		a.ID = strconv.FormatInt(n, 10)
		a.Message = jsonrpc.AppendRequest(make([]byte, 0, len(params[i])+128), jsonrpc.IntID(n), string(a.Method), params[i])
	}
}

// askOf names the ask that a response is for: by the text of its number, without the fraction that languages
// print whose only number is the float; or by its string, as releases before sent them. Empty: none.
func askOf(id jsonrpc.ID) string {
	text := id.String()
	if !strings.HasPrefix(id.Raw(), `"`) {
		text, _, _ = strings.Cut(text, ".")
	}
	return text
}
