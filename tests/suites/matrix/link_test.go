package matrix

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// outgoing is one message, or batch, of a client, and what a transport mirrors of it.
type outgoing struct {
	raw    []byte
	method string // empty: a response
	id     string // raw; empty: no request
	name   string // what is called, read or got
	// header replaces HTTP headers that would be sent.
	header map[string]string
}

// link is one client's way to the edge over one transport.
type link interface {
	// send delivers one message. What the edge sends, at once or later, goes to the inbox.
	send(m outgoing)
	// leave gives a request up where leaving its exchange is how one cancels; false: it is not.
	leave(id string) bool
	// stop makes the edge end what it serves, as an operator or the closing of stdin does.
	stop()
	// close ends the link and its edge, and returns once nothing more can come.
	close()
}

// inbox takes what the edge sends. Safe for concurrent use.
type inbox interface {
	// receive takes one message or batch.
	receive(raw []byte)
	// fault notes what the transport did wrong.
	fault(format string, args ...any)
}

// transport is one way to carry messages.
type transport struct {
	name string
	// serves tells whether it exists in a revision.
	serves func(version string) bool
	dial   func(t *testing.T, b []*harness.Service, version string, in inbox) link
}

var transports = []transport{
	{"Streamable HTTP", func(string) bool { return true }, dialStreamable},
	{"HTTP+SSE", func(version string) bool { return !stateless(version) }, dialSSE},
	{"stdio", func(string) bool { return true }, dialStdio},
}

// event is one event of a stream of Server-Sent Events.
type event struct{ name, data string }

// readEvents calls emit for each event with data, until the stream ends.
func readEvents(r io.Reader, emit func(event)) {
	lines := bufio.NewReader(r)
	var ev event
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if ev.data != "" {
				emit(ev)
			}
			ev = event{}
		case field == "event":
			ev.name = value
		case field == "data":
			ev.data += value
		}
	}
}
