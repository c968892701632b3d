package translate

import (
	"encoding/json"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestTool(t *testing.T) {
	full := &pb.Tool{
		Name: "echo", Title: "Echo", Description: "says it", InputSchemaJson: `{"type":"object"}`,
		Annotations: &pb.ToolAnnotations{ReadOnly: ptr(true), Destructive: ptr(false)},
		Icons:       []*pb.Icon{{Src: "https://x/i.png", MimeType: "image/png", Sizes: []string{"any"}, Theme: "dark"}},
		MetaJson:    `{"io.modelcontextprotocol/x":1,"ui":{"resourceUri":"ui://a"}}`,
	}
	const icons = `,"icons":[{"src":"https://x/i.png","mimeType":"image/png","sizes":["any"],"theme":"dark"}]`
	const meta = `,"_meta":{"io.modelcontextprotocol/x":1,"ui":{"resourceUri":"ui://a"}}}`
	schema := func(in string) *pb.Tool { return &pb.Tool{Name: "t", InputSchemaJson: in} }
	output := func(out string) *pb.Tool { return &pb.Tool{Name: "t", OutputSchemaJson: out} }
	tests := []struct {
		name string
		tool *pb.Tool
		want byRevision
	}{
		{"least", &pb.Tool{Name: "t"}, byRevision{`{"name":"p.t","inputSchema":{"type":"object"}}`}},
		{"full", full, byRevision{
			0: `{"name":"p.t","description":"says it","inputSchema":{"type":"object"}}`,
			1: `{"name":"p.t","description":"says it","inputSchema":{"type":"object"},"annotations":{"title":"Echo","readOnlyHint":true,"destructiveHint":false}}`,
			2: `{"name":"p.t","title":"Echo","description":"says it","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false}` + meta,
			3: `{"name":"p.t","title":"Echo","description":"says it","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false}` + icons + meta,
		}},
		{"title of annotations stays", &pb.Tool{Name: "t", Title: "T", Annotations: &pb.ToolAnnotations{Title: "A"}}, byRevision{
			0: `{"name":"p.t","inputSchema":{"type":"object"}}`,
			1: `{"name":"p.t","inputSchema":{"type":"object"},"annotations":{"title":"A"}}`,
			2: `{"name":"p.t","title":"T","inputSchema":{"type":"object"},"annotations":{"title":"A"}}`,
		}},
		{"schema verbatim", schema(`{ "type":"object", "$defs":{"address":{"$anchor":"a","type":"object"}}, "allOf":[{"anyOf":[{"required":["x"]}]}], "if":{"properties":{"x":true}}, "then":false, "else":{}, "properties":{"x":{"$ref":"#a","maximum":1.50e1}}, "additionalProperties":false }`),
			byRevision{`{"name":"p.t","inputSchema":{ "type":"object", "$defs":{"address":{"$anchor":"a","type":"object"}}, "allOf":[{"anyOf":[{"required":["x"]}]}], "if":{"properties":{"x":true}}, "then":false, "else":{}, "properties":{"x":{"$ref":"#a","maximum":1.50e1}}, "additionalProperties":false }}`}},
		{"dialect", schema(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`), byRevision{
			0: `{"name":"p.t","inputSchema":{"type":"object"}}`,
			3: `{"name":"p.t","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}}`,
		}},
		{"type added", schema(`{"properties":{}}`), byRevision{`{"name":"p.t","inputSchema":{"type":"object","properties":{}}}`}},
		{"boolean properties", schema(`{"type":"object","properties":{"a":true,"b":false,"c":{"properties":{"d":true}}},"required":["a"]}`), byRevision{
			0: `{"name":"p.t","inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"properties":{"d":true}}},"required":["a"]}}`,
			4: `{"name":"p.t","inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":{"properties":{"d":true}}},"required":["a"]}}`,
		}},
		{"output", output(`{"type":"object","properties":{"a":true}}`), byRevision{
			0: `{"name":"p.t","inputSchema":{"type":"object"}}`,
			2: `{"name":"p.t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{}}}}`,
			4: `{"name":"p.t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":true}}}`,
		}},
		{"output of an array", output("{\n\"type\":\"array\"}"), byRevision{
			0: `{"name":"p.t","inputSchema":{"type":"object"}}`,
			4: `{"name":"p.t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`,
		}},
		{"output of any type", output(`{}`), byRevision{
			0: `{"name":"p.t","inputSchema":{"type":"object"}}`,
			4: `{"name":"p.t","inputSchema":{"type":"object"},"outputSchema":{}}`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.each(t, func(t *testing.T, r *revision.Rules, want string) {
				got, err := AppendTool([]byte("before"), r, tt.tool, "p.t")
				if err != nil {
					t.Fatal(err)
				}
				same(t, r, "Tool", got[len("before"):], want)
			})
		})
	}
}

func TestToolRefused(t *testing.T) {
	tests := []struct {
		name, part string
		tool       *pb.Tool
	}{
		{"name", "name: empty", &pb.Tool{}},
		{"input JSON", "input_schema_json: no valid JSON", &pb.Tool{Name: "t", InputSchemaJson: `{`}},
		{"input boolean", "input_schema_json: of type boolean", &pb.Tool{Name: "t", InputSchemaJson: `true`}},
		{"input array", `input_schema_json: its root has the type "array"`, &pb.Tool{Name: "t", InputSchemaJson: `{"type":"array"}`}},
		{"output", "output_schema_json: of type boolean", &pb.Tool{Name: "t", OutputSchemaJson: `false`}},
		{"icon", "icons[1].src: empty", &pb.Tool{Name: "t", Icons: []*pb.Icon{{Src: "https://x"}, {}}}},
		{"theme", `icons[0].theme: "pink"`, &pb.Tool{Name: "t", Icons: []*pb.Icon{{Src: "https://x", Theme: "pink"}}}},
		{"meta", "meta_json: of type string", &pb.Tool{Name: "t", MetaJson: `"x"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range revision.All() {
				got, err := AppendTool([]byte("before"), r, tt.tool, "t")
				refused(t, err, mcp.KindContract, tt.part)
				if string(got) != "before" {
					t.Errorf("dst became %q", got)
				}
			}
		})
	}
}

func TestToolResult(t *testing.T) {
	tests := []struct {
		name string
		res  *pb.CallToolResult
		want byRevision
	}{
		{"empty", &pb.CallToolResult{}, byRevision{0: `{"content":[]}`, 4: `{"content":[]` + tail + `}`}},
		{"error", &pb.CallToolResult{Content: []*pb.ContentBlock{textBlock("no")}, IsError: true}, byRevision{
			0: `{"content":[{"type":"text","text":"no"}],"isError":true}`,
			4: `{"content":[{"type":"text","text":"no"}],"isError":true` + tail + `}`,
		}},
		{"structured alone", &pb.CallToolResult{StructuredContentJson: "{\"n\": 1.0,\n\"a\":\"\\u00e9\"}"}, byRevision{
			0: `{"content":[{"type":"text","text":"{\"n\":1.0,\"a\":\"\\u00e9\"}"}]}`,
			2: `{"content":[{"type":"text","text":"{\"n\":1.0,\"a\":\"\\u00e9\"}"}],"structuredContent":{"n":1.0,"a":"\u00e9"}}`,
			4: `{"content":[{"type":"text","text":"{\"n\":1.0,\"a\":\"\\u00e9\"}"}],"structuredContent":{"n":1.0,"a":"\u00e9"}` + tail + `}`,
		}},
		{"structured with half a surrogate pair", &pb.CallToolResult{StructuredContentJson: `{"a":"\ud800","b":"\ud83d\ude00"}`}, byRevision{
			0: `{"content":[{"type":"text","text":"{\"a\":\"\\ufffd\",\"b\":\"\\ud83d\\ude00\"}"}]}`,
			2: `{"content":[{"type":"text","text":"{\"a\":\"\\ufffd\",\"b\":\"\\ud83d\\ude00\"}"}],"structuredContent":{"a":"\ufffd","b":"\ud83d\ude00"}}`,
			4: `{"content":[{"type":"text","text":"{\"a\":\"\\ufffd\",\"b\":\"\\ud83d\\ude00\"}"}],"structuredContent":{"a":"\ufffd","b":"\ud83d\ude00"}` + tail + `}`,
		}},
		{"structured beside text", &pb.CallToolResult{
			Content: []*pb.ContentBlock{textBlock("t")}, StructuredContentJson: `{"a":1}`,
		}, byRevision{
			0: `{"content":[{"type":"text","text":"t"}]}`,
			2: `{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}}`,
			4: `{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}` + tail + `}`,
		}},
		{"structured beside sound", &pb.CallToolResult{
			Content: []*pb.ContentBlock{audioBlock()}, StructuredContentJson: `{"a":1}`,
		}, byRevision{
			0: `{"content":[{"type":"resource","resource":{"uri":"mcpedge:audio/0","mimeType":"audio/wav","blob":"AQID"}},{"type":"text","text":"{\"a\":1}"}]}`,
			1: `{"content":[{"type":"audio","data":"AQID","mimeType":"audio/wav"},{"type":"text","text":"{\"a\":1}"}]}`,
			2: `{"content":[{"type":"audio","data":"AQID","mimeType":"audio/wav"},{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`,
			4: `{"content":[{"type":"audio","data":"AQID","mimeType":"audio/wav"},{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}` + tail + `}`,
		}},
		{"structured array", &pb.CallToolResult{StructuredContentJson: `[1]`}, byRevision{
			0: `{"content":[{"type":"text","text":"[1]"}]}`,
			4: `{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1]` + tail + `}`,
		}},
		{"structured array beside text", &pb.CallToolResult{Content: []*pb.ContentBlock{textBlock("t")}, StructuredContentJson: `null`}, byRevision{
			0: `{"content":[{"type":"text","text":"t"}]}`,
			4: `{"content":[{"type":"text","text":"t"}],"structuredContent":null` + tail + `}`,
		}},
		{"meta", &pb.CallToolResult{
			MetaJson: `{"io.modelcontextprotocol/serverInfo":{"name":"me"},"io.modelcontextprotocol\/x":1,"k":[2]}`,
		}, byRevision{
			0: `{"content":[],"_meta":{"k":[2]}}`,
			4: `{"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/x":1,"k":[2],"io.modelcontextprotocol/serverInfo":{"name":"edge","version":"1"}}}`,
		}},
		{"plain meta", &pb.CallToolResult{MetaJson: ` { "k" : 1 } `}, byRevision{
			0: `{"content":[],"_meta":{"k" : 1}}`,
			4: `{"content":[],"resultType":"complete","_meta":{"k" : 1,"io.modelcontextprotocol/serverInfo":{"name":"edge","version":"1"}}}`,
		}},
		{"meta that vanishes", &pb.CallToolResult{MetaJson: `{"io.modelcontextprotocol/serverInfo":{}}`}, byRevision{
			0: `{"content":[]}`, 4: `{"content":[]` + tail + `}`,
		}},
		{"empty meta", &pb.CallToolResult{MetaJson: `{ }`}, byRevision{0: `{"content":[]}`, 4: `{"content":[]` + tail + `}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.each(t, func(t *testing.T, r *revision.Rules, want string) {
				got, err := toolResult(r, server, tt.res)
				if err != nil {
					t.Fatal(err)
				}
				same(t, r, "CallToolResult", got, want)
			})
		})
	}
	for field, res := range map[string]*pb.CallToolResult{
		"structured_content_json: no valid JSON": {StructuredContentJson: `{"a":}`},
		"meta_json: no valid JSON":               {MetaJson: `{`},
	} {
		for _, r := range revision.All() {
			_, err := toolResult(r, server, res)
			refused(t, err, mcp.KindContract, field)
		}
	}
}

func callOf(t *testing.T, method mcp.Method, params string) *mcp.Call {
	t.Helper()
	p, err := mcp.ParamsOf(jsonrpc.Message{Method: string(method), Params: json.RawMessage(params)})
	if err != nil {
		t.Fatal(err)
	}
	return &mcp.Call{ID: "c1", Attempt: 1, Round: 2, Params: *p}
}

func TestCallToolRequest(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"x"}`:                                 ``,
		`{"name":"x","arguments":null}`:                ``,
		`{"name":"x","arguments":{ "n": 1.0, "n":2 }}`: `{ "n": 1.0, "n":2 }`,
		`{"name":"x","arguments":{"a":"\ud800"}}`:      `{"a":"\ufffd"}`,
	} {
		call := callOf(t, mcp.MethodToolsCall, params)
		call.State = []byte("s")
		req, err := CallToolRequest(call, "own")
		if err != nil {
			t.Fatal(err)
		}
		if req.Name != "own" || req.ArgumentsJson != want || string(req.State) != "s" || req.Context.CallId != "c1" {
			t.Errorf("%s gives %v", params, req)
		}
	}
	_, err := CallToolRequest(callOf(t, mcp.MethodToolsCall, `{"name":"x","arguments":[1]}`), "x")
	refused(t, err, mcp.KindInvalidParams, "params.arguments: array")
}
