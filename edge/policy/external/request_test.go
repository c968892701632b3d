package external

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	envoyv1 "github.com/mcpedge/mcpedge/gen/mcpedge/envoy/v1"
)

// A reason is of bounded length, and shows nothing that it is not.
func TestReason(t *testing.T) {
	denied := func(body, message string) *envoyv1.CheckResponse {
		return &envoyv1.CheckResponse{
			Status:       &envoyv1.RPCStatus{Code: 7, Message: message},
			HttpResponse: &envoyv1.CheckResponse_DeniedResponse{DeniedResponse: &envoyv1.DeniedHttpResponse{Body: body}},
		}
	}
	for _, x := range []struct {
		resp *envoyv1.CheckResponse
		want string
	}{
		{denied("of the body", "of the status"), "of the body"},
		{denied("", "of the status"), "of the status"},
		{denied("", ""), ""},
		{&envoyv1.CheckResponse{Status: &envoyv1.RPCStatus{Code: 7}}, ""},
		{denied("a\x00\r\n\x1b[31m\u202eb\u2028\n", ""), "a[31mb"},
		{denied(strings.Repeat("ü", MaxReason), ""), strings.Repeat("ü", MaxReason)},
		{denied(strings.Repeat("\n", 300)+strings.Repeat("ü", MaxReason+1), ""), strings.Repeat("ü", MaxReason)},
	} {
		if got := reason(x.resp); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

// An id is sent as the client sent it, a number or a text.
func TestID(t *testing.T) {
	for raw, want := range map[string]any{`7`: 7.0, `"seven"`: "seven"} {
		id, err := jsonrpc.NewID(raw)
		if err != nil {
			t.Fatal(err)
		}
		req, _, err := request(&mcp.Call{Method: mcp.MethodToolsCall, Envelope: mcp.Envelope{ID: id}}, DefaultMaxParams)
		if err != nil {
			t.Fatal(err)
		}
		if got := req.GetAttributes().GetMetadataContext().GetFilterMetadata()[Namespace].AsMap()["id"]; got != want {
			t.Errorf("%s is sent as %v", raw, got)
		}
	}
}

// The headers of a call of a tool of the edge are those of the request that it wraps, as the metadata is; headers that the client did
// not send stay absent, and those of other calls are as received.
func TestHeadersOfWrappedCalls(t *testing.T) {
	header := func(tool string) http.Header {
		return http.Header{
			"Mcp-Method": {"tools/call"}, "Mcp-Name": {tool}, "Mcp-Param-Uri": {"doc://a"}, "Mcp-Param-Tool": {"x"}, "X-Other": {"o"},
		}
	}
	for _, c := range []struct {
		name, params string
		header       http.Header
		want         map[string]string
	}{
		{"read_resource", `{"name":"read_resource","arguments":{"uri":"doc://ä"}}`, header("read_resource"),
			map[string]string{"mcp-method": "resources/read", "mcp-name": mcp.EncodeHeader("doc://ä"), "x-other": "o"}},
		{"call_tool", `{"name":"call_tool","arguments":{"name":"x","arguments":{"a":1}}}`, header("call_tool"),
			map[string]string{"mcp-method": "tools/call", "mcp-name": "x", "x-other": "o"}},
		{"call_tool", `{"name":"call_tool","arguments":{"name":"x"}}`, http.Header{"X-Other": {"o"}}, map[string]string{"x-other": "o"}},
		{"", `{"name":"read_resource","arguments":{"uri":"doc://a"}}`, header("read_resource"),
			map[string]string{"mcp-method": "tools/call", "mcp-name": "read_resource", "mcp-param-uri": "doc://a", "mcp-param-tool": "x", "x-other": "o"}},
	} {
		call := &mcp.Call{Method: mcp.MethodToolsCall, HTTP: mcp.HTTP{Header: c.header, Path: "/mcp/s", Host: "h"}}
		if err := call.Params.Parse(call.Method, json.RawMessage(c.params), nil); err != nil {
			t.Fatal(err)
		}
		if c.name != "" {
			if err := call.Unwrap(); err != nil {
				t.Fatal(err)
			}
		}
		req, _, err := request(call, DefaultMaxParams)
		if err != nil {
			t.Fatal(err)
		}
		got := req.GetAttributes().GetRequest().GetHttp().GetHeaders()
		maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, ":") })
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: the headers are %v, want %v", c.params, got, c.want)
		}
	}
}
