package server

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(await.Leaks(m)) }

type outcome = capabilitytest.Outcome[mcpedgev1.CallToolResult]

func start(t *testing.T) *capabilitytest.Client {
	t.Helper()
	return capabilitytest.Start(t, New(Options{WatchInterval: 20 * time.Millisecond, ReconnectionDelay: 10 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler)}))
}

func timed(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	t.Cleanup(cancel)
	return ctx
}

func call(t *testing.T, c *capabilitytest.Client, name string, arguments any) *outcome {
	t.Helper()
	out, err := c.CallTool(timed(t), name, arguments)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func text(o *outcome) string {
	var all []string
	for _, c := range o.Result.GetContent() {
		all = append(all, c.GetText().GetText())
	}
	return strings.Join(all, "\n")
}

func toolNames(t *testing.T, c *capabilitytest.Client) map[string]*mcpedgev1.Tool {
	t.Helper()
	list, err := c.Tools.ListTools(timed(t), &mcpedgev1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*mcpedgev1.Tool{}
	for i, tool := range list.GetTools() {
		if i == 0 && tool.GetName() != "test_simple_text" {
			t.Errorf("the first tool is %s", tool.GetName())
		}
		if tool.GetDescription() == "" || !json.Valid([]byte(tool.GetInputSchemaJson())) {
			t.Errorf("%v", tool)
		}
		all[tool.GetName()] = tool
	}
	return all
}

func TestFixturesAreListed(t *testing.T) {
	c := start(t)
	listed := toolNames(t, c)
	for _, name := range []string{"test_image_content", "test_audio_content", "test_embedded_resource", "test_multiple_content_types",
		"test_error_handling", "test_tool_with_progress", "test_tool_with_logging", "test_sampling", "test_elicitation",
		"test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums", "test_reconnection", "json_schema_2020_12_tool",
		"test_missing_capability", "test_streaming_elicitation", "test_logging_tool", "test_trigger_tool_change",
		"test_trigger_prompt_change", "test_x_mcp_header", "test_input_required_result_elicitation", "test_input_required_result_sampling",
		"test_input_required_result_list_roots", "test_input_required_result_request_state", "test_input_required_result_multiple_inputs",
		"test_input_required_result_multi_round", "test_input_required_result_tampered_state", "test_input_required_result_capabilities"} {
		if listed[name] == nil {
			t.Errorf("%s is not listed", name)
		}
	}
	if got := listed["json_schema_2020_12_tool"].GetInputSchemaJson(); got != dialectSchema || !json.Valid([]byte(got)) {
		t.Errorf("the schema was changed: %s", got)
	}
	var schema struct {
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(listed["test_x_mcp_header"].GetInputSchemaJson()), &schema); err != nil ||
		schema.Properties["region"]["x-mcp-header"] != "Region" || schema.Properties["region"]["type"] != "string" {
		t.Errorf("%v, %v", schema, err)
	}
	prompts, err := c.Prompts.ListPrompts(timed(t), &mcpedgev1.ListPromptsRequest{})
	if err != nil || len(prompts.GetPrompts()) != 5 {
		t.Fatalf("%v, %v", prompts, err)
	}
	for _, p := range prompts.GetPrompts() {
		if p.GetDescription() == "" {
			t.Errorf("%s has no description", p.GetName())
		}
	}
}

func TestContent(t *testing.T) {
	c := start(t)
	if got := text(call(t, c, "test_simple_text", nil)); got != "This is a simple text response for testing." {
		t.Errorf("text %q", got)
	}
	picture := call(t, c, "test_image_content", nil).Result.GetContent()[0].GetImage()
	if _, err := png.Decode(bytes.NewReader(picture.GetData())); err != nil || picture.GetMimeType() != "image/png" {
		t.Errorf("image %s: %v", picture.GetMimeType(), err)
	}
	sound := call(t, c, "test_audio_content", nil).Result.GetContent()[0].GetAudio()
	if sound.GetMimeType() != "audio/wav" || len(sound.GetData()) != 44+80 || string(sound.GetData()[8:12]) != "WAVE" {
		t.Errorf("audio %v", sound)
	}
	embedded := call(t, c, "test_embedded_resource", nil).Result.GetContent()[0].GetResource()
	if embedded.GetUri() != "test://embedded-resource" || embedded.GetMimeType() != "text/plain" || embedded.GetText() == "" {
		t.Errorf("embedded %v", embedded)
	}
	mixed := call(t, c, "test_multiple_content_types", nil).Result.GetContent()
	if len(mixed) != 3 || mixed[0].GetText() == nil || mixed[1].GetImage() == nil || mixed[2].GetResource().GetUri() != "test://mixed-content-resource" ||
		mixed[2].GetResource().GetMimeType() != "application/json" {
		t.Errorf("mixed %v", mixed)
	}
	if out := call(t, c, "test_error_handling", nil); !out.Result.GetIsError() || text(out) != "This tool intentionally returns an error for testing" {
		t.Errorf("error %v", out.Result)
	}
	if got := text(call(t, c, "json_schema_2020_12_tool", map[string]any{"phone": "1"})); got != `Called with {"phone":"1"}` {
		t.Errorf("schema tool %q", got)
	}
	if got := text(call(t, c, "test_x_mcp_header", map[string]any{"region": "eu"})); got != "region=eu" {
		t.Errorf("header tool %q", got)
	}
	if got := text(call(t, c, "test_reconnection", nil)); got == "" {
		t.Error("test_reconnection said nothing")
	}
}

func TestProgressAndLogging(t *testing.T) {
	c := start(t)
	var steps []float64
	for _, p := range call(t, c, "test_tool_with_progress", nil).Progress {
		steps = append(steps, p.GetProgress())
		if p.GetTotal() != 100 {
			t.Errorf("total %v", p.GetTotal())
		}
	}
	if len(steps) != 3 || steps[0] != 0 || steps[1] != 50 || steps[2] != 100 {
		t.Errorf("progress %v", steps)
	}
	logs := call(t, c, "test_tool_with_logging", nil).Logs
	if len(logs) != 3 || logs[0].GetDataJson() != `"Tool execution started"` || logs[2].GetLevel() != capability.LevelInfo {
		t.Errorf("logs %v", logs)
	}
	if logs = call(t, c, "test_logging_tool", nil).Logs; len(logs) != 8 {
		t.Errorf("logs of every level: %v", logs)
	}
	c.Context = &mcpedgev1.RequestContext{CallId: "quiet", Attempt: 1}
	if logs = call(t, c, "test_logging_tool", nil).Logs; len(logs) != 0 {
		t.Errorf("logs that are not wanted: %v", logs)
	}
}

func TestTriggersChangeTheLists(t *testing.T) {
	c := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	defer cancel()
	tools, err := c.Tools.WatchTools(ctx, &mcpedgev1.WatchToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := c.Prompts.WatchPrompts(ctx, &mcpedgev1.WatchPromptsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := tools.Recv(); err != nil || m.GetStarted() == nil {
		t.Fatalf("%v, %v", m, err)
	}
	if m, err := prompts.Recv(); err != nil || m.GetStarted() == nil {
		t.Fatalf("%v, %v", m, err)
	}
	for _, there := range []bool{true, false} {
		call(t, c, "test_trigger_tool_change", nil)
		if m, err := tools.Recv(); err != nil || m.GetChanged() == nil {
			t.Fatalf("%v, %v", m, err)
		}
		if got := toolNames(t, c)["test_dynamic_tool"] != nil; got != there {
			t.Errorf("the dynamic tool is there: %v, want %v", got, there)
		}
		if there && text(call(t, c, "test_dynamic_tool", nil)) == "" {
			t.Error("the dynamic tool says nothing")
		}
		call(t, c, "test_trigger_prompt_change", nil)
		if m, err := prompts.Recv(); err != nil || m.GetChanged() == nil {
			t.Fatalf("%v, %v", m, err)
		}
		out, err := c.GetPrompt(ctx, "test_dynamic_prompt", nil)
		if err != nil || (out.Result != nil) != there {
			t.Errorf("the dynamic prompt: %v, %v; want it there: %v", out, err, there)
		}
	}
}
