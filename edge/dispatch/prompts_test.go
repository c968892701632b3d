package dispatch

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestPrompts(t *testing.T) {
	f := &fake{name: "a", prefix: "a_", prompts: []*pb.Prompt{
		{Name: "free"}, {Name: "strict", Arguments: []*pb.PromptArgument{{Name: "x", Required: true}, {Name: "y"}, {Name: "z", Required: true}}},
	}}
	d := start(t, Options{}, f)
	for params, want := range map[string]struct {
		kind mcp.Kind
		text string
	}{
		`{"name":"a_free"}`: {0, "got from a/free"},
		`{"name":"a_strict","arguments":{"x":"1","z":""}}`: {0, "got from a/strict"},
		`{"name":"a_strict","arguments":{"y":"1"}}`:        {mcp.KindInvalidParams, "x, z"},
		`{"name":"a_strict","arguments":{"x":1,"z":"2"}}`:  {mcp.KindInvalidParams, "arguments.x"},
		`{"name":"free"}`: {mcp.KindUnknownPrompt, `"free"`},
		`{}`:              {mcp.KindInvalidParams, "params.name"},
	} {
		reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodPromptsGet, params), nil)
		text := string(reply.Result)
		if err != nil {
			text = err.Error()
		}
		if kindOf(t, err) != want.kind || !strings.Contains(text, want.text) {
			t.Errorf("%s: %s", params, text)
		}
	}
	f.onPrompt = func(*pb.GetPromptRequest, grpc.ServerStreamingServer[pb.GetPromptResponse]) error {
		return status.Error(codes.NotFound, "gone")
	}
	if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodPromptsGet, `{"name":"a_free"}`), nil); kindOf(t, err) != mcp.KindUnknownPrompt {
		t.Errorf("got %v", err)
	}
}

func TestCompletion(t *testing.T) {
	f := &fake{name: "a", prefix: "a_", prompts: []*pb.Prompt{{Name: "p"}, {Name: "none"}, {Name: "broken"}},
		resources: []*pb.Resource{{Uri: "x:1", Name: "1"}}, templates: []*pb.ResourceTemplate{{UriTemplate: "x:{v}", Name: "t"}}}
	f.onComplete = func(name, argument, value string) ([]string, error) {
		switch name {
		case "none":
			return nil, status.Error(codes.Unimplemented, "none")
		case "broken":
			return nil, status.Error(codes.Unavailable, "down")
		}
		out := []string{name + "/" + argument + "/" + value}
		for i := range 150 {
			out = append(out, fmt.Sprint("v", i))
		}
		return out, nil
	}
	silent := &fake{name: "silent", prompts: []*pb.Prompt{{Name: "quiet"}}, templates: []*pb.ResourceTemplate{{UriTemplate: "s:{v}", Name: "t"}}}
	d := start(t, Options{}, f, silent)
	for ref, want := range map[string]struct {
		kind mcp.Kind
		text string
	}{
		`{"type":"ref/prompt","name":"a_p"}`:      {0, `"values":["p/arg/ab","v0",`},
		`{"type":"ref/prompt","name":"a_none"}`:   {0, `"values":[]`},
		`{"type":"ref/prompt","name":"a_broken"}`: {mcp.KindUnavailable, ``},
		`{"type":"ref/prompt","name":"quiet"}`:    {0, `"values":[]`},
		`{"type":"ref/prompt","name":"p"}`:        {mcp.KindInvalidParams, `prompt "p"`},
		`{"type":"ref/resource","uri":"x:{v}"}`:   {0, `"values":["x:{v}/arg/ab",`},
		`{"type":"ref/resource","uri":"s:{v}"}`:   {0, `"values":[]`},
		`{"type":"ref/resource","uri":"x:1"}`:     {0, `"values":[]`},
		`{"type":"ref/resource","uri":"x:{w}"}`:   {mcp.KindInvalidParams, `"x:{w}"`},
		`{"type":"ref/other"}`:                    {mcp.KindInvalidParams, ``},
	} {
		call := request(t, mcp.MethodComplete, `{"ref":`+ref+`,"argument":{"name":"arg","value":"ab"}}`)
		reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
		text := string(reply.Result)
		if err != nil {
			text = err.Error()
		}
		if kindOf(t, err) != want.kind || !strings.Contains(text, want.text) {
			t.Errorf("%s: %s", ref, text)
		}
		if strings.Contains(text, `"v0"`) && (!strings.Contains(text, `"v98"]`) || !strings.Contains(text, `"hasMore":true`)) {
			t.Errorf("%s: not truncated to 100: %s", ref, text)
		}
	}
}
