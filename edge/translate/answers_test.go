package translate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func elicited(action pb.ElicitAction, content string) *pb.InputResponse {
	return &pb.InputResponse{Response: &pb.InputResponse_Elicit{Elicit: &pb.ElicitResult{Action: action, ContentJson: content}}}
}

func sampled(x *pb.CreateMessageResult) *pb.InputResponse {
	return &pb.InputResponse{Response: &pb.InputResponse_CreateMessage{CreateMessage: x}}
}

func TestInputResponses(t *testing.T) {
	const accept, decline, cancel = pb.ElicitAction_ELICIT_ACTION_ACCEPT, pb.ElicitAction_ELICIT_ACTION_DECLINE, pb.ElicitAction_ELICIT_ACTION_CANCEL
	assistant := func(blocks ...*pb.SamplingContent) *pb.CreateMessageResult {
		return &pb.CreateMessageResult{Role: pb.Role_ROLE_ASSISTANT, Model: "m", Content: blocks}
	}
	toolResult := &pb.SamplingContent{Content: &pb.SamplingContent_ToolResult{ToolResult: &pb.ToolResult{
		ToolUseId: "u", StructuredContentJson: `{"n":1.0}`, IsError: true,
		Content: []*pb.ContentBlock{
			textBlock("t"), audioBlock(), rawBlock(`{"type":"resource_link","uri":"a:b","name":"n"}`),
			{Content: &pb.ContentBlock_Resource{Resource: &pb.ResourceContents{Uri: "a:b", Body: &pb.ResourceContents_Blob{Blob: []byte{1}}}}},
		},
	}}}
	full := assistant(
		&pb.SamplingContent{Content: sampledText("a").Content, MetaJson: `{"k":1}`, Annotations: &pb.Annotations{
			Audience: []pb.Role{pb.Role_ROLE_USER}, Priority: ptr(0.5), LastModified: "2025",
		}},
		&pb.SamplingContent{Content: &pb.SamplingContent_ToolUse{ToolUse: &pb.ToolUse{Id: "u", Name: "n", InputJson: `{ "x":1.0}`}}},
		toolResult,
		&pb.SamplingContent{Content: &pb.SamplingContent_RawJson{RawJson: `{"type":"hologram","v":1}`}},
	)
	full.StopReason, full.MetaJson = "endTurn", `{"m":1}`
	tests := []struct {
		name   string
		method mcp.Method
		result string
		want   *pb.InputResponse // nil: left out
	}{
		{"accept", mcp.MethodElicit, `{"action":"accept","content":{"a":"x","n":1.0,"l":["y"],"z":null}}`, elicited(accept, `{"a":"x","n":1.0,"l":["y"],"z":null}`)},
		{"accept by shape", "", `{"content":{},"action":"accept"}`, elicited(accept, `{}`)},
		{"accept without content", "", `{"action":"accept"}`, elicited(accept, `{}`)},
		{"accept with null", mcp.MethodElicit, `{"action":"accept","content":null}`, elicited(accept, `{}`)},
		{"decline", mcp.MethodElicit, `{"action":"decline","content":null}`, elicited(decline, ``)},
		{"cancel with content", mcp.MethodElicit, `{"action":"cancel","content":{"a":1}}`, elicited(cancel, ``)},
		{"null", mcp.MethodElicit, `null`, nil},
		{"number", mcp.MethodElicit, `42`, nil},
		{"number, method unknown", "", `42`, nil},
		{"nothing", mcp.MethodElicit, ``, nil},
		{"no action", mcp.MethodElicit, `{}`, nil},
		{"null action", mcp.MethodElicit, `{"action":null}`, nil},
		{"odd action", "", `{"action":"ok"}`, nil},
		{"number content", mcp.MethodElicit, `{"action":"accept","content":42}`, nil},
		{"nested content", mcp.MethodElicit, `{"action":"accept","content":{"a":{}}}`, nil},
		{"nested list", mcp.MethodElicit, `{"action":"accept","content":{"a":[1]}}`, nil},
		{"malformed JSON", mcp.MethodElicit, `{"action":"accept"`, nil},

		{"sampled", mcp.MethodCreateMessage, `{"role":"assistant","model":"m","content":{"type":"text","text":""}}`, sampled(assistant(sampledText("")))},
		{"sampled, full", "", `{"role":"assistant","model":"m","stopReason":"endTurn","_meta":{"m":1},"content":[` +
			`{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025"},"_meta":{"k":1}},` +
			`{"type":"tool_use","id":"u","name":"n","input":{ "x":1.0}},` +
			`{"type":"tool_result","toolUseId":"u","structuredContent":{"n":1.0},"isError":true,"content":[{"type":"text","text":"t"},{"type":"audio","data":"AQID","mimeType":"audio/wav"},{"type":"resource_link","uri":"a:b","name":"n"},{"type":"resource","resource":{"uri":"a:b","blob":"AQ=="}}]},` +
			`{"type":"hologram","v":1}]}`, sampled(full)},
		{"no model", mcp.MethodCreateMessage, `{"role":"assistant","content":{"type":"text","text":""}}`, nil},
		{"no content", mcp.MethodCreateMessage, `{"role":"assistant","model":"m","content":[]}`, nil},
		{"odd role", mcp.MethodCreateMessage, `{"role":"system","model":"m","content":{"type":"text","text":""}}`, nil},
		{"block without text", mcp.MethodCreateMessage, `{"role":"user","model":"m","content":{"type":"text"}}`, nil},
		{"block without type", mcp.MethodCreateMessage, `{"role":"user","model":"m","content":{"text":"a"}}`, nil},
		{"block no object", mcp.MethodCreateMessage, `{"role":"user","model":"m","content":["a"]}`, nil},
		{"bad base64", mcp.MethodCreateMessage, `{"role":"user","model":"m","content":{"type":"image","data":"!","mimeType":"image/png"}}`, nil},
		{"tool use without input", mcp.MethodCreateMessage, `{"role":"user","model":"m","content":{"type":"tool_use","id":"u","name":"n"}}`, nil},
		{"tool result of text", mcp.MethodCreateMessage, `{"role":"user","model":"m","content":{"type":"tool_result","toolUseId":"u","content":"t"}}`, nil},

		{"roots", mcp.MethodListRoots, `{"roots":[{"uri":"file:///a","name":"A","_meta":{"k":1}},{"uri":"file:///b"}]}`, &pb.InputResponse{
			Response: &pb.InputResponse_ListRoots{ListRoots: &pb.ListRootsResult{Roots: []*pb.Root{{Uri: "file:///a", Name: "A", MetaJson: `{"k":1}`}, {Uri: "file:///b"}}}},
		}},
		{"no roots, by shape", "", `{"roots":[]}`, &pb.InputResponse{Response: &pb.InputResponse_ListRoots{ListRoots: &pb.ListRootsResult{}}}},
		{"roots missing", mcp.MethodListRoots, `{}`, nil},
		{"root without uri", mcp.MethodListRoots, `{"roots":[{"name":"A"}]}`, nil},
		{"root no object", mcp.MethodListRoots, `{"roots":["file:///a"]}`, nil},
		{"uri no string", mcp.MethodListRoots, `{"roots":[{"uri":1}]}`, nil},

		{"unknown shape", "", `{"x":1.0}`, &pb.InputResponse{Response: &pb.InputResponse_RawJson{RawJson: `{"x":1.0}`}}},
		{"unknown method", "x/y", `{"action":1}`, &pb.InputResponse{Response: &pb.InputResponse_RawJson{RawJson: `{"action":1}`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := inputResponses([]mcp.InputResponse{{Key: "k", Method: tt.method, Result: json.RawMessage(tt.result)}})
			var want []*pb.InputResponse
			if tt.want != nil {
				tt.want.Key = "k"
				want = []*pb.InputResponse{tt.want}
			}
			if len(got) == 0 {
				got = nil
			}
			if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
				t.Error(d)
			}
		})
	}
}
