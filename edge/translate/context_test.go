package translate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestContext(t *testing.T) {
	call := callOf(t, mcp.MethodToolsCall, `{"_meta":{"progressToken":0,"traceparent":"00-a","io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info","a/b":{"n": 1.0}}}`)
	capabilities, err := mcp.ParseCapabilities(json.RawMessage(`{"elicitation":{"url":{},"x":1},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true,"y":[]},"extensions":{"a/b":{"s":1},"bad":3},"experimental":{"e":{}},"tasks":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	call.Client = mcp.Client{
		Info:         json.RawMessage(`{"name":"c","version":"2","title":"C","description":"d","websiteUrl":"https://x","icons":[{"src":"https://i","mimeType":"image/png","sizes":["any",1],"theme":"dark"},{},7],"extra":1}`),
		Capabilities: capabilities,
	}
	call.Principal = mcp.Principal{Subject: "s", Issuer: "i", Scopes: []string{"a"}, Roles: []string{"r"}, Client: "c", Actor: "a"}
	call.LogLevel = mcp.LogWarning
	got, err := Context(call)
	if err != nil {
		t.Fatal(err)
	}
	want := &pb.RequestContext{
		CallId: "c1", Attempt: 1, Round: 2,
		Principal: &pb.Principal{Subject: "s", Issuer: "i", Scopes: []string{"a"}, Roles: []string{"r"}, ClientId: "c", Actor: "a"},
		ClientInfo: &pb.Implementation{
			Name: "c", Version: "2", Title: "C", Description: "d", WebsiteUrl: "https://x",
			Icons: []*pb.Icon{{Src: "https://i", MimeType: "image/png", Sizes: []string{"any"}, Theme: "dark"}},
		},
		ClientCapabilities: &pb.ClientCapabilities{
			Elicitation:    &pb.ElicitationCapability{Url: true, ExtraJson: `{"x":1}`},
			Sampling:       &pb.SamplingCapability{Context: true, Tools: true},
			Roots:          &pb.RootsCapability{ListChanged: true, ExtraJson: `{"y":[]}`},
			ExtensionsJson: map[string]string{"a/b": `{"s":1}`},
			ExtraJson:      `{"experimental":{"e":{}},"tasks":{}}`,
		},
		LogLevel: pb.LogLevel_LOG_LEVEL_WARNING, ProgressWanted: true,
		MetaJson: `{"traceparent":"00-a","a/b":{"n": 1.0}}`,
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func TestContextOfLittle(t *testing.T) {
	for params, meta := range map[string]string{
		`{}`:                               ``,
		`{"_meta":{}}`:                     ``,
		`{"_meta":{ "progressToken":"" }}`: ``,
		`{"_meta":{ "k" : 1 }}`:            `{ "k" : 1 }`,
	} {
		call := callOf(t, mcp.MethodToolsCall, params)
		call.Client.Info = json.RawMessage(`7`)
		got, err := Context(call)
		if err != nil {
			t.Fatal(err)
		}
		want := &pb.RequestContext{
			CallId: "c1", Attempt: 1, Round: 2, Principal: &pb.Principal{}, ClientCapabilities: &pb.ClientCapabilities{},
			MetaJson: meta, ProgressWanted: len(call.Params.Meta.ProgressToken) > 0,
		}
		if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
			t.Errorf("%s: %s", params, d)
		}
	}
}

// The common case, a `_meta` with only what the edge consumes, does not allocate.
func TestClientMetaAllocates(t *testing.T) {
	call := callOf(t, mcp.MethodToolsCall, `{"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/clientInfo":{"name":"c"},`+
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"}}`)
	if n := testing.AllocsPerRun(100, func() { _ = clientMeta(&call.Params.Meta) }); n > 0 || call.Params.Meta.IsPassedOn {
		t.Errorf("%v allocations, want none", n)
	}
}
