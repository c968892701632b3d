package jsonrpc

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"
	"unsafe"
)

// TestOutlineHasRoom: the call of a tool with every member that MCP defines for it and for its `_meta` is outlined, so that it is not
// scanned again.
func TestOutlineHasRoom(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":{"y":1}},"task":{"ttl":1},` +
		`"inputResponses":{},"requestState":"s","_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/logLevel":"info","traceparent":"t","tracestate":"s","baggage":"b"}}}`
	var o Outline
	if _, err := ParseOutlined([]byte(call), &o); err != nil || o.state != outlined {
		t.Errorf("the outline has %d members and the state %d, %v", o.n, o.state, err)
	}
}

// TestOutlineOfLongNames: a member whose name has more bytes than an outline can count is read, as are those beside it.
func TestOutlineOfLongNames(t *testing.T) {
	for _, n := range []int{math.MaxUint16, math.MaxUint16 + 1, math.MaxUint16 + 2} {
		long := strings.Repeat("n", n)
		var o Outline
		m, err := ParseOutlined([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"`+long+`":2,"b":3}}`), &o)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		err = m.Outline.Members(m.Params, func(key []byte, value json.RawMessage) error {
			got[string(key)] = string(value)
			return nil
		})
		if want := (map[string]string{"a": "1", long: "2", "b": "3"}); err != nil || !maps.Equal(got, want) {
			t.Errorf("with a name of %d bytes there are %d members, %v", n, len(got), err)
		}
	}
}

// TestOutlineIsSmall bounds what each exchange has for the outline, in bytes.
func TestOutlineIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Outline{}); n > 228 {
		t.Errorf("an outline takes %d bytes, want at most 228", n)
	}
}
