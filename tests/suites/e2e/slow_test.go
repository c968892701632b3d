package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

const (
	eventSize = 16 << 10
	logBytes  = 256 << 10 // of one stream, in these tests
	// queueBytes is what may wait for one call's log to be written (Bounds: the queue of a call).
	queueBytes = 1 << 20
	// connectionBytes is what one connection and one gRPC stream may hold on all sides of this process:
	// buffers of HTTP, the flow-control window of gRPC, and what is on the way between them.
	connectionBytes = 1 << 20
)

func tightBounds(c *config.Config) {
	c.Advanced.StreamBytes = logBytes
	c.Listen.WriteTimeout = time.Second
	c.Backends = slices.Clone(c.Backends)
	for i := range c.Backends {
		c.Backends[i].Timeout = 10 * time.Minute // the calls send much, and a busy machine is slow at it
	}
}

// deaf is a client that sends a request and does not read, but for what the test may read.
func deaf(t *testing.T, e *harness.Edge, headers []string, body string) net.Conn {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		_ = c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
		return err
	}}
	conn, err := dialer.DialContext(context.Background(), "tcp", e.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	head := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", e.Host, len(body))
	for i := 0; i+1 < len(headers); i += 2 {
		head += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"+body); err != nil {
		t.Fatal(err)
	}
	return conn
}

// firstID reads no further than the first event's id.
func firstID(t *testing.T, conn net.Conn) string {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := conn.Read(b); err != nil {
			t.Fatal(err)
		}
		if b[0] != '\n' {
			line = append(line, b[0])
			continue
		}
		if id, ok := strings.CutPrefix(string(line), "id: "); ok {
			return id
		}
		line = line[:0]
	}
}

// heap is what was alive at a collection made now. What was allocated while the collector ran counts for it as alive, and
// is not counted here: it is mostly garbage, and there is the more of it the more the tests before have left to be looked
// through.
func heap() int64 {
	runtime.GC() // pools give up what they hold at the second
	before := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(before)
	runtime.GC()
	after := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(after)
	return int64(after[1].Value.Uint64()) - int64(after[0].Value.Uint64()-before[0].Value.Uint64())
}

func floodParams(times int) string {
	return fmt.Sprintf(`"name":"flood","arguments":{"bytes":%d,"times":%d}`, eventSize, times)
}

// TestDeafStateless: where a client that stops reading holds back the backend, memory stays within the
// buffers of its connection; after the write timeout its call is cancelled. Others go on all the while.
func TestDeafStateless(t *testing.T) { deafStateless(t, 10) }

func deafStateless(t *testing.T, deafClients int) {
	t.Helper()
	harness.OneProcess(t)
	f, e := startFixture(t, tightBounds)
	others := newStateless(t, e.URL)
	others.call("add", `{"a":1,"b":1}`).text()
	before := heap()
	for range deafClients { // each is sent 160 MB
		deaf(t, e, modernHeaders("tools/call", "flood"), stating("tools/call", metaBoth+`,"progressToken":1`, floodParams(10_000)))
	}
	var most int64
	for cancelled := 0; cancelled < deafClients; {
		select {
		case err := <-f.ended:
			if err == nil {
				t.Error("a call ran to its end although nobody read")
			}
			cancelled++
		case <-time.After(50 * time.Millisecond):
			most = max(most, heap()-before)
			if got := others.call("add", `{"a":1,"b":1}`).text(); got != `{"sum":2}` {
				t.Errorf("another client: %q", got)
			}
		}
	}
	if bound := int64(deafClients) * connectionBytes; most > bound {
		t.Errorf("%d clients that do not read hold %d bytes, the bound is %d", deafClients, most, bound)
	}
	t.Logf("%d bytes of heap per client", most/int64(deafClients))
}

// TestDeafSessions: with a session the backend is never held back: what nobody reads is kept up to the
// log's bound, the oldest progress dropped first and the response kept, and can be read later.
func TestDeafSessions(t *testing.T) { deafSessions(t, 10) }

func deafSessions(t *testing.T, deafClients int) {
	t.Helper()
	harness.OneProcess(t)
	f, e := startFixture(t, tightBounds)
	s := newSession(t, e.URL, vNov)
	before := heap()
	var reader net.Conn
	for i := range deafClients { // each is sent 16 MB
		reader = deaf(t, e, s.headers(), envelope(fmt.Sprint(1000+i), "tools/call", `{"_meta":{"progressToken":1},`+floodParams(1_000)+`}`))
	}
	id := firstID(t, reader)
	var most int64
	for ended := 0; ended < deafClients; {
		select {
		case err := <-f.ended:
			if err != nil {
				t.Errorf("a call was cancelled: %v", err)
			}
			ended++
		case <-time.After(50 * time.Millisecond):
			most = max(most, heap()-before)
			s.request("ping", "").want(200)
		}
	}
	if bound := int64(deafClients) * (logBytes + queueBytes + connectionBytes); most > bound {
		t.Errorf("while they run, %d clients that do not read hold %d bytes, the bound is %d", deafClients, most, bound)
	}
	held := int64(0)
	await.Until(t, "what is kept is within the logs' bound", func() bool {
		held = heap() - before
		return held <= int64(deafClients)*(logBytes+logBytes/2)
	})
	rest := s.get(id).want(200).events()
	received := 0
	m := rest.message()
	for ; m.Method != ""; m = rest.message() {
		received++
	}
	if text(t, m.result(t)) != "done" || received == 0 || received >= 1000 {
		t.Errorf("after %d of 1000 events: %s", received, m.raw)
	}
	t.Logf("%d bytes of heap per client while they run, %d afterwards", most/int64(deafClients), held/int64(deafClients))
}
