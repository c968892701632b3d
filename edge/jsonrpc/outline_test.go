package jsonrpc

import "testing"

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
