package capability_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestContentArrivesWhole(t *testing.T) {
	link := &capability.Resource{Uri: "x://a", Name: "a"}
	blob := capability.BlobContents("x://b", "application/pdf", []byte{0xff})
	s := capability.New("content", "1")
	addTool(s, "all", func(context.Context, *capability.Call) ([]*capability.Content, error) {
		return []*capability.Content{capability.Image([]byte{1}, "image/png"), capability.Audio([]byte{2}, "audio/wav"),
			capability.Link(link), capability.Embed(blob), capability.RawContent(json.RawMessage(`{"type":"new"}`))}, nil
	})
	addTool(s, "error", func(context.Context, *capability.Call) (*capability.Result, error) {
		return capability.ErrorResult("no %s", "city"), nil
	})
	c := capabilitytest.Start(t, s)
	for name, want := range map[string]*mcpedgev1.CallToolResult{
		"all": {Content: []*mcpedgev1.ContentBlock{
			{Content: &mcpedgev1.ContentBlock_Image{Image: &mcpedgev1.ImageContent{Data: []byte{1}, MimeType: "image/png"}}},
			{Content: &mcpedgev1.ContentBlock_Audio{Audio: &mcpedgev1.AudioContent{Data: []byte{2}, MimeType: "audio/wav"}}},
			{Content: &mcpedgev1.ContentBlock_ResourceLink{ResourceLink: link}},
			{Content: &mcpedgev1.ContentBlock_Resource{Resource: blob}},
			{Content: &mcpedgev1.ContentBlock_RawJson{RawJson: `{"type":"new"}`}}}},
		"error": {Content: []*mcpedgev1.ContentBlock{capability.Text("no city")}, IsError: true},
	} {
		out, err := c.CallTool(limit(t), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.Result, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestToolOptions(t *testing.T) {
	icon := &capability.Icon{Src: "https://example.com/i.png"}
	s := capability.New("options", "1")
	addTool(s, "all", func(context.Context, *capability.Call) (map[string]int, error) { return nil, nil },
		capability.Idempotent(), capability.OpenWorld(false), capability.Icons(icon), capability.Meta(`{"m":1}`),
		capability.InputSchema(`{"type":"object", "$comment":"own"}`), capability.OutputSchema(""))
	c := capabilitytest.Start(t, s)
	list, err := c.Tools.ListTools(limit(t), &mcpedgev1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := []*mcpedgev1.Tool{{Name: "all", Icons: []*capability.Icon{icon}, MetaJson: `{"m":1}`,
		InputSchemaJson: `{"type":"object", "$comment":"own"}`,
		Annotations:     &mcpedgev1.ToolAnnotations{Idempotent: proto.Bool(true), OpenWorld: proto.Bool(false)}}}
	if diff := cmp.Diff(want, list.GetTools(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMistakesPanicWhenAdded(t *testing.T) {
	s := capability.New("mistakes", "1")
	read := func(context.Context, *capability.Call, string) (string, error) { return "", nil }
	readVars := func(context.Context, *capability.Call, string, map[string]string) (string, error) { return "", nil }
	raw := func(context.Context, *capability.Call, json.RawMessage) (*capability.Result, error) { return nil, nil }
	prompt := func(context.Context, *capability.Call, map[string]string) (string, error) { return "", nil }
	s.Provide("taken://", &notes{})
	for name, mistake := range map[string]func(){
		"tool name":     func() { capability.AddRawTool(s, &capability.Tool{Name: "a b"}, raw) },
		"no tool name":  func() { capability.AddRawTool(s, &capability.Tool{}, raw) },
		"tool schema":   func() { capability.AddRawTool(s, &capability.Tool{Name: "a", InputSchemaJson: "[]"}, raw) },
		"tool option":   func() { capability.OutputSchema("{") },
		"extension":     func() { capability.WithExtension("x", "1") },
		"resource URI":  func() { capability.AddResource(s, &capability.Resource{Uri: "relative", Name: "a"}, read) },
		"resource name": func() { capability.AddResource(s, &capability.Resource{Uri: "x://a"}, read) },
		"template": func() {
			capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "x://{", Name: "a"}, readVars)
		},
		"template suggest": func() {
			capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "x://{a}", Name: "a"}, readVars, capability.Suggest("b"))
		},
		"prompt name":     func() { capability.AddPrompt(s, &capability.Prompt{}, prompt) },
		"prompt argument": func() { capability.AddPrompt(s, &capability.Prompt{Name: "p"}, prompt, capability.Suggest("b")) },
		"no prefix":       func() { s.Provide("", &notes{}) },
		"prefix taken":    func() { s.Provide("taken://", &notes{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			mistake()
		}()
	}
}

func TestCallIsSafeForConcurrentUse(t *testing.T) {
	s := capability.New("concurrent", "1")
	capability.AddPrompt(s, &capability.Prompt{Name: "p"}, func(_ context.Context, c *capability.Call, _ map[string]string) (string, error) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				c.Progress(float64(i), 8, "")
				c.Log(capability.LevelInfo, "l", i)
				c.SetState([]byte{byte(i)})
				_ = c.State()
			})
		}
		wg.Wait()
		c.Progress(9, 9, "")
		return "done", nil
	})
	c := capabilitytest.Start(t, s)
	out, err := c.GetPrompt(limit(t), "p", nil)
	if err != nil || out.Result == nil || len(out.Logs) != 8 || out.Progress[len(out.Progress)-1].GetProgress() != 9 {
		t.Fatalf("%+v, %v", out, err)
	}
	for i, p := range out.Progress[1:] {
		if p.GetProgress() <= out.Progress[i].GetProgress() {
			t.Errorf("progress did not rise: %v", out.Progress)
		}
	}
}
