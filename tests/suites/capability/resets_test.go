package capability

import (
	"bytes"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// leftAtOnce is how many calls are left before a backend looks at the first: an edge has those of all its clients on one connection.
const leftAtOnce = 100

// A burst of calls whose callers have left costs others on the connection nothing. Servers count such calls against attackers, and end the
// connection when there are too many, which an edge is trusted not to mean.
func TestCallsLeftAtOnce(t *testing.T) {
	conn, err := net.Dial("tcp", shared.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(await.Patience))
	var burst, block bytes.Buffer
	burst.WriteString(http2.ClientPreface)
	framer, headers := http2.NewFramer(&burst, conn), hpack.NewEncoder(&block)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	begin := func(stream uint32, path string) {
		block.Reset()
		for _, h := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":authority", shared.addr}, {":path", path}, {"content-type", "application/grpc"}, {"te", "trailers"},
		} {
			_ = headers.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}) // the writer is a buffer
		}
		if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint32(leftAtOnce) {
		begin(2*i+1, "/mcpedge.v1.ToolService/CallTool")
		if err := framer.WriteRSTStream(2*i+1, http2.ErrCodeCancel); err != nil {
			t.Fatal(err)
		}
	}
	const last = 2*leftAtOnce + 1
	begin(last, "/mcpedge.v1.ToolService/ListTools")
	if err := framer.WriteData(last, true, make([]byte, 5)); err != nil { // an empty message
		t.Fatal(err)
	}
	if _, err := conn.Write(burst.Bytes()); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("the connection has ended: %v", err)
		}
		switch f := f.(type) {
		case *http2.GoAwayFrame:
			t.Fatalf("%d calls that were left end the connection: %s %q", leftAtOnce, f.ErrCode, f.DebugData())
		case *http2.DataFrame:
			if f.StreamID == last {
				return
			}
		}
	}
}
