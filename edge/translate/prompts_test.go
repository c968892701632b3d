package translate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestPrompt(t *testing.T) {
	x := &pb.Prompt{
		Name: "p", Title: "P", Description: "d", Icons: link.Icons, MetaJson: `{"l":1}`,
		Arguments: []*pb.PromptArgument{{Name: "a", Title: "A", Description: "b", Required: true}, {Name: "c"}},
	}
	want := byRevision{
		0: `{"name":"x.p","description":"d","arguments":[{"name":"a","description":"b","required":true},{"name":"c"}]}`,
		2: `{"name":"x.p","title":"P","description":"d","arguments":[{"name":"a","title":"A","description":"b","required":true},{"name":"c"}],"_meta":{"l":1}}`,
		3: `{"name":"x.p","title":"P","description":"d","arguments":[{"name":"a","title":"A","description":"b","required":true},{"name":"c"}],"icons":[{"src":"https://x/i.png"}],"_meta":{"l":1}}`,
	}
	want.each(t, func(t *testing.T, r *revision.Rules, want string) {
		got, err := AppendPrompt(nil, r, x, "x.p")
		if err != nil {
			t.Fatal(err)
		}
		same(t, r, "Prompt", got, want)
	})
	_, err := AppendPrompt(nil, r2607, &pb.Prompt{}, "x")
	refused(t, err, mcp.KindContract, "name: empty")
	_, err = AppendPrompt(nil, r2607, &pb.Prompt{Name: "p", Arguments: []*pb.PromptArgument{{}}}, "x")
	refused(t, err, mcp.KindContract, "arguments[0].name: empty")
}

func TestPromptResult(t *testing.T) {
	res := &pb.GetPromptResult{Description: "d", MetaJson: `{"k":1}`, Messages: []*pb.PromptMessage{
		{Role: pb.Role_ROLE_USER, Content: textBlock("a")},
		{Role: pb.Role_ROLE_ASSISTANT, Content: audioBlock()},
	}}
	const head = `{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"assistant","content":`
	want := byRevision{
		0: head + `{"type":"resource","resource":{"uri":"mcpedge:audio/1","mimeType":"audio/wav","blob":"AQID"}}}],"description":"d","_meta":{"k":1}}`,
		1: head + `{"type":"audio","data":"AQID","mimeType":"audio/wav"}}],"description":"d","_meta":{"k":1}}`,
		4: head + `{"type":"audio","data":"AQID","mimeType":"audio/wav"}}],"description":"d","resultType":"complete","_meta":{"k":1,"io.modelcontextprotocol/serverInfo":{"name":"edge","version":"1"}}}`,
	}
	want.each(t, func(t *testing.T, r *revision.Rules, want string) {
		got, err := PromptResult(r, server, res)
		if err != nil {
			t.Fatal(err)
		}
		same(t, r, "GetPromptResult", got, want)
	})
	empty := byRevision{0: `{"messages":[]}`, 4: `{"messages":[]` + tail + `}`}
	empty.each(t, func(t *testing.T, r *revision.Rules, want string) {
		got, err := PromptResult(r, server, &pb.GetPromptResult{})
		if err != nil {
			t.Fatal(err)
		}
		same(t, r, "GetPromptResult", got, want)
	})
	for part, m := range map[string]*pb.PromptMessage{
		"messages[0].role: ROLE_UNSPECIFIED":                 {Content: textBlock("a")},
		"messages[0].content.content: unset":                 {Role: pb.Role_ROLE_USER},
		"messages[0].content.annotations.priority: 2 is out": {Role: pb.Role_ROLE_USER, Content: &pb.ContentBlock{Content: textBlock("").Content, Annotations: &pb.Annotations{Priority: ptr(2.0)}}},
	} {
		_, err := PromptResult(r2607, server, &pb.GetPromptResult{Messages: []*pb.PromptMessage{m}})
		refused(t, err, mcp.KindContract, part)
	}
}

func TestGetPromptRequest(t *testing.T) {
	req, err := GetPromptRequest(callOf(t, mcp.MethodPromptsGet, `{"name":"x.p","arguments":{"a":"1","b":"\u00e9"}}`), "p")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"a": "1", "b": "é"}, req.Arguments); d != "" || req.Name != "p" {
		t.Errorf("name %q, arguments: %s", req.Name, d)
	}
	for _, params := range []string{`{"name":"p"}`, `{"name":"p","arguments":null}`, `{"name":"p","arguments":{"a":null}}`} {
		req, err := GetPromptRequest(callOf(t, mcp.MethodPromptsGet, params), "p")
		if err != nil || len(req.Arguments) != 0 {
			t.Errorf("%s gives %v, %v", params, req, err)
		}
	}
	for params, part := range map[string]string{
		`{"arguments":[]}`:       "params.arguments: array",
		`{"arguments":{"a":1}}`:  "params.arguments.a: number",
		`{"arguments":{"a":[]}}`: "params.arguments.a: array",
	} {
		_, err := GetPromptRequest(callOf(t, mcp.MethodPromptsGet, params), "p")
		refused(t, err, mcp.KindInvalidParams, part)
	}
}
