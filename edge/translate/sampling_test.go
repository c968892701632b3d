package translate

import (
	"math"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func sampledText(s string) *pb.SamplingContent {
	return &pb.SamplingContent{Content: &pb.SamplingContent_Text{Text: &pb.TextContent{Text: s}}}
}

func message(blocks ...*pb.SamplingContent) *pb.SamplingMessage {
	return &pb.SamplingMessage{Role: pb.Role_ROLE_USER, Content: blocks}
}

func TestCreateMessage(t *testing.T) {
	sound := &pb.SamplingContent{Content: &pb.SamplingContent_Audio{Audio: &pb.AudioContent{Data: []byte{1, 2, 3}, MimeType: "audio/wav"}}}
	picture := &pb.SamplingContent{Content: &pb.SamplingContent_Image{Image: &pb.ImageContent{Data: []byte{1}, MimeType: "image/png"}}}
	use := &pb.SamplingContent{Content: &pb.SamplingContent_ToolUse{ToolUse: &pb.ToolUse{Id: "u", Name: "n"}}}
	result := &pb.SamplingContent{Content: &pb.SamplingContent_ToolResult{ToolResult: &pb.ToolResult{
		ToolUseId: "u", StructuredContentJson: `[1]`, IsError: true,
	}}}
	noted := message(sampledText("a"))
	noted.MetaJson = `{"k":1}`
	noted.Content = []*pb.SamplingContent{{Content: sampledText("a").Content, MetaJson: `{"b":2}`}}
	of := func(m ...*pb.SamplingMessage) *pb.CreateMessage { return &pb.CreateMessage{Messages: m, MaxTokens: 9} }
	full := of(message(sampledText("a")))
	full.SystemPrompt, full.Temperature, full.StopSequences = "s", ptr(0.0), []string{"x"}
	full.ModelPreferences = &pb.ModelPreferences{Hints: []string{"h"}, CostPriority: ptr(0.0), SpeedPriority: ptr(1.0), IntelligencePriority: ptr(0.5)}
	full.IncludeContext, full.MetadataJson, full.MetaJson = "none", "{\"a\":\n1}", `{"k":1,"progressToken":5}`
	tools := of(message(sampledText("a")))
	tools.Tools, tools.ToolChoiceMode = []*pb.Tool{{Name: "t"}}, "auto"

	const one = `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":9`
	tests := []struct {
		name string
		x    *pb.CreateMessage
		want byRevision
	}{
		{"least", of(message(sampledText("a"))), byRevision{one + `}`}},
		{"full", full, byRevision{
			one + `,"systemPrompt":"s","temperature":0,"stopSequences":["x"],"modelPreferences":{"hints":[{"name":"h"}],"costPriority":0,"speedPriority":1,"intelligencePriority":0.5},"includeContext":"none","metadata":{"a":1},"_meta":{"k":1}}`,
		}},
		{"picture", of(message(picture)), byRevision{`{"messages":[{"role":"user","content":{"type":"image","data":"AQ==","mimeType":"image/png"}}],"maxTokens":9}`}},
		{"sound", of(message(sound)), byRevision{
			0: unable,
			1: `{"messages":[{"role":"user","content":{"type":"audio","data":"AQID","mimeType":"audio/wav"}}],"maxTokens":9}`,
		}},
		{"tools", tools, byRevision{0: unable, 3: one + `,"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"}}`}},
		{"several blocks", of(message(sampledText("a"), sampledText("b"))), byRevision{
			0: unable,
			3: `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"maxTokens":9}`,
		}},
		{"tool blocks", of(&pb.SamplingMessage{Role: pb.Role_ROLE_ASSISTANT, Content: []*pb.SamplingContent{use}}, message(result)), byRevision{
			0: unable,
			3: `{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"u","name":"n","input":{}}},{"role":"user","content":{"type":"tool_result","toolUseId":"u","content":[{"type":"text","text":"[1]"}],"isError":true}}],"maxTokens":9}`,
			4: `{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"u","name":"n","input":{}}},{"role":"user","content":{"type":"tool_result","toolUseId":"u","content":[{"type":"text","text":"[1]"}],"structuredContent":[1],"isError":true}}],"maxTokens":9}`,
		}},
		{"meta", of(noted), byRevision{
			0: one + `}`,
			2: `{"messages":[{"role":"user","content":{"type":"text","text":"a","_meta":{"b":2}}}],"maxTokens":9}`,
			3: `{"messages":[{"role":"user","content":{"type":"text","text":"a","_meta":{"b":2}},"_meta":{"k":1}}],"maxTokens":9}`,
		}},
		{"raw", of(message(&pb.SamplingContent{Content: &pb.SamplingContent_RawJson{RawJson: `{"type":"tool_use","id":"u","name":"n","input":{}}`}})), byRevision{
			0: `{"messages":[{"role":"user","content":{"type":"text","text":"{\"type\":\"tool_use\",\"id\":\"u\",\"name\":\"n\",\"input\":{}}"}}],"maxTokens":9}`,
			3: `{"messages":[{"role":"user","content":{"type":"tool_use","id":"u","name":"n","input":{}}}],"maxTokens":9}`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { asked(t, sample(tt.x), "CreateMessageRequest", tt.want) })
	}
}

func TestCreateMessageRefused(t *testing.T) {
	good := func() *pb.CreateMessage {
		return &pb.CreateMessage{Messages: []*pb.SamplingMessage{message(sampledText("a"))}, MaxTokens: 9}
	}
	with := func(change func(x *pb.CreateMessage)) *pb.CreateMessage {
		x := good()
		change(x)
		return x
	}
	block := func(c *pb.SamplingContent) *pb.CreateMessage {
		return with(func(x *pb.CreateMessage) { x.Messages = append(x.Messages, message(c)) })
	}
	for part, x := range map[string]*pb.CreateMessage{
		"messages: empty":                        {MaxTokens: 1},
		"max_tokens: 0":                          with(func(x *pb.CreateMessage) { x.MaxTokens = 0 }),
		"messages[0].role: ROLE_UNSPECIFIED":     with(func(x *pb.CreateMessage) { x.Messages[0].Role = 0 }),
		"messages[0].content: empty":             with(func(x *pb.CreateMessage) { x.Messages[0].Content = nil }),
		"temperature: NaN":                       with(func(x *pb.CreateMessage) { x.Temperature = ptr(math.NaN()) }),
		"model_preferences.cost_priority: 2":     with(func(x *pb.CreateMessage) { x.ModelPreferences = &pb.ModelPreferences{CostPriority: ptr(2.0)} }),
		"include_context: \"all\"":               with(func(x *pb.CreateMessage) { x.IncludeContext = "all" }),
		"metadata_json: of type array":           with(func(x *pb.CreateMessage) { x.MetadataJson = "[]" }),
		"meta_json: no valid JSON":               with(func(x *pb.CreateMessage) { x.MetaJson = "[" }),
		"tool_choice_mode: \"any\"":              with(func(x *pb.CreateMessage) { x.ToolChoiceMode = "any" }),
		"tools[0].name: empty":                   with(func(x *pb.CreateMessage) { x.Tools = []*pb.Tool{{}} }),
		"messages[1].content[0].content: unset":  block(&pb.SamplingContent{}),
		"content[0].tool_use.id: empty":          block(&pb.SamplingContent{Content: &pb.SamplingContent_ToolUse{}}),
		"content[0].tool_result.tool_use_id: em": block(&pb.SamplingContent{Content: &pb.SamplingContent_ToolResult{}}),
		"content[0].image.mime_type: empty":      block(&pb.SamplingContent{Content: &pb.SamplingContent_Image{}}),
		"content[0].tool_use.input_json: of":     block(&pb.SamplingContent{Content: &pb.SamplingContent_ToolUse{ToolUse: &pb.ToolUse{Id: "i", Name: "n", InputJson: "1"}}}),
	} {
		for _, r := range []*revision.Rules{r2511, r2607} {
			_, err := InputRequired(r, ask(sample(x)))
			refused(t, err, mcp.KindContract, "input_required.requests[0].create_message.")
			refused(t, err, mcp.KindContract, part)
		}
	}
}
