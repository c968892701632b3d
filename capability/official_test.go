package capability_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// likeOthers is a result as other libraries have it.
type likeOthers struct {
	Meta              map[string]any `json:"_meta,omitempty"`
	Content           []any          `json:"content"`
	StructuredContent any            `json:"structuredContent,omitempty"`
	IsError           bool           `json:"isError,omitempty"`
}

// blockOfOthers is content as other libraries have it.
type blockOfOthers struct {
	Annotations *struct{}      `json:"annotations,omitempty"`
	Meta        map[string]any `json:"_meta,omitempty"`
	Type        string         `json:"type"`
	Text        string         `json:"text"`
}

// Results of other libraries are results, whatever the static type of a handler's result; a failure
// among them is one.
func TestResultsOfOtherLibraries(t *testing.T) {
	s := capability.New("official", "1")
	priority := 0.5
	full := &mcp.CallToolResult{Meta: mcp.Meta{"m": 1}, IsError: true, StructuredContent: map[string]any{"a": 1}, Content: []mcp.Content{
		&mcp.TextContent{Text: "no", Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: priority}},
		&mcp.ImageContent{Data: []byte{0, 1, 255}, MIMEType: "image/png"}, &mcp.AudioContent{Data: []byte{1}, MIMEType: "audio/wav"},
		&mcp.ResourceLink{URI: "x://a", Name: "a", Title: "A"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://b", MIMEType: "text/plain", Text: "b"}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://c", Blob: []byte{2}}},
	}}
	addTool(s, "full", func(context.Context, *capability.Call) (*mcp.CallToolResult, error) { return full, nil })
	addTool(s, "any", func(context.Context, *capability.Call) (any, error) { return full, nil })
	addTool(s, "value", func(context.Context, *capability.Call) (likeOthers, error) {
		return likeOthers{Content: []any{map[string]any{"type": "text", "text": "no"}}, IsError: true}, nil
	})
	addTool(s, "map", func(context.Context, *capability.Call) (map[string]any, error) {
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": "no"}}, "isError": true}, nil
	})
	addTool(s, "converted", func(context.Context, *capability.Call) (*capability.Result, error) { return capability.ResultOf(full) })
	addTool(s, "block", func(context.Context, *capability.Call) (*mcp.TextContent, error) {
		return &mcp.TextContent{Text: "no"}, nil
	})
	addTool(s, "interface", func(context.Context, *capability.Call) (mcp.Content, error) { return &mcp.TextContent{Text: "no"}, nil })
	addTool(s, "blocks", func(context.Context, *capability.Call) ([]mcp.Content, error) {
		return []mcp.Content{&mcp.TextContent{Text: "no"}}, nil
	})
	addTool(s, "others", func(context.Context, *capability.Call) (blockOfOthers, error) {
		return blockOfOthers{Type: "text", Text: "no"}, nil
	})
	c := capabilitytest.Start(t, s)

	text := capability.Text("no")
	annotated := capability.Text("no")
	annotated.Annotations = &capability.Annotations{Audience: []capability.Role{capability.User}, Priority: &priority}
	whole := &mcpedgev1.CallToolResult{IsError: true, StructuredContentJson: `{"a":1}`, MetaJson: `{"m":1}`, Content: []*capability.Content{
		annotated, capability.Image([]byte{0, 1, 255}, "image/png"), capability.Audio([]byte{1}, "audio/wav"),
		capability.Link(&capability.Resource{Uri: "x://a", Name: "a", Title: "A"}),
		capability.Embed(capability.TextContents("x://b", "text/plain", "b")), capability.Embed(capability.BlobContents("x://c", "", []byte{2}))}}
	failed := &mcpedgev1.CallToolResult{IsError: true, Content: []*capability.Content{text}}
	one := &mcpedgev1.CallToolResult{Content: []*capability.Content{text}}
	for name, want := range map[string]*mcpedgev1.CallToolResult{"full": whole, "any": whole, "converted": whole, "value": failed, "map": failed,
		"block": one, "interface": one, "blocks": one, "others": one} {
		out, err := c.CallTool(limit(t), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.Result, protocmp.Transform()); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, out.Failure, diff)
		}
	}
	list, err := c.Tools.ListTools(limit(t), &mcpedgev1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.GetTools() {
		if schema := tool.GetOutputSchemaJson(); schema != "" {
			t.Errorf("%s has the output schema %s", tool.GetName(), schema)
		}
	}
}

// A value with some members of a result that is not a complete result is an error that says what to
// write.
func TestValuesThatAreNoResults(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"content":  {map[string]any{"content": "a page"}, "a list of content"},
		"stray":    {map[string]any{"isError": true, "message": "no"}, `"message"`},
		"flag":     {map[string]any{"isError": "true"}, "true or false"},
		"block":    {map[string]any{"type": "image", "url": "x://a"}, "RawContent"},
		"list":     {[]any{"a", map[string]any{"type": "text", "text": "b"}}, "RawContent"},
		"mixed":    {[]any{"a", capability.Text("b")}, "[]*capability.Content"},
		"message":  {map[string]any{"at": timestamppb.Now()}, "protojson"},
		"result":   {map[string]any{"result": &capability.Result{}}, "the *capability.Result itself"},
		"official": {[]any{&mcp.CallToolResult{}, nil}, "return it itself"},
		"error":    {errors.New("no"), "the handler's error"},
		"nested":   {&capability.Result{Structured: &mcp.CallToolResult{IsError: true}}, "capability.ResultOf"},
		"question": {map[string]any{"resultType": "input_required", "content": []any{}}, "capability.Ask"},
	} {
		t.Run(name, func(t *testing.T) {
			s := capability.New("values", "1")
			addTool(s, "value", func(context.Context, *capability.Call) (any, error) { return c.value, nil })
			out, err := capabilitytest.Start(t, s).CallTool(limit(t), "value", nil)
			if err != nil || out.Failure.GetReason() != capability.Internal || !strings.Contains(out.Failure.GetMessage(), c.want) {
				t.Errorf("%v, %v, want an error with %s", out, err, c.want)
			}
		})
	}
}

// Values that look like results are sent as values if the type or an option says so.
func TestValuesThatLookLikeResults(t *testing.T) {
	const text = `{"content":"a page","isError":false}`
	s := capability.New("values", "1")
	addTool(s, "raw", func(context.Context, *capability.Call) (json.RawMessage, error) { return json.RawMessage(text), nil })
	addTool(s, "structured", func(context.Context, *capability.Call) (*capability.Result, error) {
		return &capability.Result{Structured: map[string]any{"content": "a page", "isError": false}}, nil
	})
	c := capabilitytest.Start(t, s)
	for _, name := range []string{"raw", "structured"} {
		if out, err := c.CallTool(limit(t), name, nil); err != nil || out.Result.GetStructuredContentJson() != text {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
}

// A result whose kind is not clear is refused when the tool is added, with what to write.
func TestResultsThatAreRefused(t *testing.T) {
	for want, add := range map[string]func(*capability.Server){
		"capability.Image": func(s *capability.Server) {
			addTool(s, "t", func(context.Context, *capability.Call) ([]byte, error) { return nil, nil })
		},
		"*capability.Content": func(s *capability.Server) {
			addTool(s, "t", func(context.Context, *capability.Call) (*capability.ResourceContents, error) { return nil, nil })
		},
		"protojson": func(s *capability.Server) {
			addTool(s, "t", func(context.Context, *capability.Call) (struct{ At *timestamppb.Timestamp }, error) {
				return struct{ At *timestamppb.Timestamp }{}, nil
			})
		},
		"a request or its params": func(s *capability.Server) {
			capability.AddTool(s, "t", "", func(context.Context, *capability.Call, *mcp.CallToolParams) (string, error) { return "", nil })
		},
		"return a *capability.Result": func(s *capability.Server) {
			addTool(s, "t", func(context.Context, *capability.Call) (capability.Result, error) { return capability.Result{}, nil })
		},
	} {
		func() {
			defer func() {
				if said, ok := recover().(string); !ok || !strings.Contains(said, want) {
					t.Errorf("panic %q, want %q in it", said, want)
				}
			}()
			add(capability.New("refused", "1"))
		}()
	}
}

// Prompts and contents of the official SDK are converted.
func TestPromptsAndContentsOfOtherLibraries(t *testing.T) {
	prompt, err := capability.PromptResultOf(&mcp.GetPromptResult{Description: "d", Messages: []*mcp.PromptMessage{{Role: "assistant", Content: &mcp.TextContent{Text: "hi"}}}})
	want := &capability.PromptResult{Description: "d", Messages: []*capability.PromptMessage{capability.Message(capability.Assistant, capability.Text("hi"))}}
	if diff := cmp.Diff(want, prompt, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	contents, err := capability.ContentsOf(&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "x://a", MIMEType: "text/plain", Text: "a"}}})
	if diff := cmp.Diff([]*capability.ResourceContents{capability.TextContents("x://a", "text/plain", "a")}, contents, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	for _, bad := range []any{map[string]any{"text": "a"}, "a", nil} {
		if got, err := capability.PromptResultOf(bad); err == nil {
			t.Errorf("%v became the prompt %v", bad, got)
		}
		if got, err := capability.ContentsOf(bad); err == nil {
			t.Errorf("%v became the contents %v", bad, got)
		}
	}
}

// contentsOfAList is the result type of read handlers of mcp-go: a list of an interface.
type contentsOfAList interface{ contents() }

type textContents struct {
	URI  string `json:"uri"`
	Text string `json:"text"`
}

func (textContents) contents() {}

// The handlers of mcp-go return the contents of a read as a list, without a result around it.
func TestContentsInAList(t *testing.T) {
	contents, err := capability.ContentsOf([]contentsOfAList{textContents{"x://a", "a"}, textContents{"x://b", "b"}})
	if err != nil || len(contents) != 2 || contents[1].GetUri() != "x://b" || contents[1].GetText() != "b" {
		t.Errorf("%v, %v", contents, err)
	}
	if contents, err := capability.ContentsOf([]int{1}); err == nil {
		t.Errorf("a list of numbers: %v", contents)
	}
	if contents, err := capability.ContentsOf([]contentsOfAList(nil)); err != nil || len(contents) != 0 {
		t.Errorf("no contents: %v, %v", contents, err)
	}
}
