package matrix

import (
	"testing"
)

const errorGroup = "Errors"

func errorRows() []row {
	return []row{
		{group: errorGroup, name: "−32700, −32600: what is not a message", in: "xxxxx", works: notUnderstood},
		{group: errorGroup, name: "−32601: an unknown method", in: "xxxxx", works: methodUnknown},
		{group: errorGroup, name: "−32020: headers and body disagree", in: "----x", works: mismatched, lacks: headersIgnored,
			only: func(_, transport string) bool { return transport == "Streamable HTTP" }},
		{group: errorGroup, name: "−32021: the client cannot be asked", in: "----x", works: capabilityMissing, lacks: toolFails},
		{group: errorGroup, name: "−32022: a version that is not served", in: "----x", works: versionUnknown, lacks: versionNegotiated},
	}
}

// notUnderstood: no id could be read, so the answer has none; an id that could be read is echoed.
func notUnderstood(t *testing.T, c *cell) {
	noID := func(m message) bool { return m.Error != nil && m.ID == nil }
	c.link.send(outgoing{id: "none", method: "tools/list", raw: []byte(`{"jsonrpc":"2.0","id":`)})
	c.await(t, "the answer to what is not JSON", noID).wantError(t, -32700)
	c.link.send(outgoing{id: "none", method: "tools/list", raw: []byte(`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`)})
	c.await(t, "the answer to a request with the id null", noID).wantError(t, -32600)
	c.mu.Lock()
	c.asked[`"params"`] = "tools/list"
	c.mu.Unlock()
	c.link.send(outgoing{id: "params", method: "tools/list", raw: []byte(`{"jsonrpc":"2.0","id":"params","method":"tools/list","params":[]}`)})
	c.response(t, `"params"`).wantError(t, -32600)
}

func methodUnknown(t *testing.T, c *cell) {
	for _, method := range []string{"unknown/method", "tasks/unknown"} {
		c.request(t, method, object{}).wantError(t, -32601)
	}
}

func mismatched(t *testing.T, c *cell) {
	for name, value := range map[string]string{"Mcp-Method": "tools/call", "MCP-Protocol-Version": "2099-01-01"} {
		id := c.post("tools/list", c.params(nil, nil), "", map[string]string{name: value})
		c.response(t, id).wantError(t, -32020)
	}
	id := c.post("tools/call", c.params(calling("test_simple_text", nil), nil), "another_tool")
	c.response(t, id).wantError(t, -32020)
}

func headersIgnored(t *testing.T, c *cell) {
	id := c.post("tools/list", c.params(nil, nil), "", map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "x"})
	c.response(t, id).result(t)
}

func capabilityMissing(t *testing.T, c *cell) {
	for tool, want := range map[string]object{
		"test_missing_capability": {"sampling": object{}},
		"ask_tools":               {"sampling": object{"tools": object{}}},
		"ask_form":                {"elicitation": object{}},
		"ask_url":                 {"elicitation": object{"url": object{}}},
		"list_workspace":          {"roots": object{}},
	} {
		id := c.begin("tools/call", calling(tool, nil), object{"io.modelcontextprotocol/clientCapabilities": object{}})
		m := c.response(t, id).wantError(t, -32021)
		same(t, "what is required", dig(m.Error.Data, "requiredCapabilities"), want)
	}
}

// toolFails: without a code for it, the model that called is told.
func toolFails(t *testing.T, c *cell) {
	p := c.again(t, `{}`)
	for _, tool := range []string{"test_missing_capability", "ask_tools", "ask_form", "ask_url", "list_workspace"} {
		if got := p.call(t, tool, nil); got["isError"] != true || text(got) == "" {
			t.Errorf("%s gave %v", tool, got)
		}
	}
	p.link.close()
	p.settle(t)
}

func versionUnknown(t *testing.T, c *cell) {
	const future = "2099-01-01"
	id := c.post("tools/list", c.params(nil, object{"io.modelcontextprotocol/protocolVersion": future}), "",
		map[string]string{"MCP-Protocol-Version": future})
	m := c.response(t, id).wantError(t, -32022)
	supported, _ := dig(m.Error.Data, "supported").([]any)
	if len(supported) != len(versions) || dig(m.Error.Data, "requested") != future {
		t.Errorf("data: %v", m.Error.Data)
	}
}

// versionNegotiated: a handshake needs no error; see TestNegotiation. Here, that this client got what it
// asked for.
func versionNegotiated(t *testing.T, c *cell) {
	if c.hello["protocolVersion"] != c.version {
		t.Errorf("negotiated %v", c.hello["protocolVersion"])
	}
}

// TestNegotiation: who asks for a version that no handshake can give gets the newest that one can.
func TestNegotiation(t *testing.T) {
	_, backends := startBackends(t)
	for _, tr := range transports {
		for _, asked := range []string{vNew, "2099-01-01", "0.1"} {
			t.Run(tr.name+"/"+asked, func(t *testing.T) {
				p := connect(t, tr, backends, asked, everything, loadSchemas(t, vNov))
				if p.hello["protocolVersion"] != vNov {
					t.Errorf("negotiated %v", p.hello["protocolVersion"])
				}
				p.link.close()
				p.settle(t)
			})
		}
	}
}
