package capability_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

type weatherArgs struct {
	City string `json:"city" description:"City name"`
	Days int    `json:"days" default:"1" minimum:"1"`
}

type weather struct {
	Text string `json:"text"`
	Days int    `json:"days"`
}

func TestTypedToolRoundTrip(t *testing.T) {
	s := capability.New("weather", "1.0.0")
	capability.AddTool(s, "weather_current", "Current weather", func(_ context.Context, _ *capability.Call, in weatherArgs) (weather, error) {
		return weather{Text: "<sun> in " + in.City, Days: in.Days}, nil
	}, capability.ReadOnly(), capability.Title("Weather"), capability.Destructive(false))
	c := capabilitytest.Start(t, s)

	list, err := c.Tools.ListTools(limit(t), &mcpedgev1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := &mcpedgev1.Tool{Name: "weather_current", Title: "Weather", Description: "Current weather",
		InputSchemaJson:  `{"type":"object","properties":{"city":{"type":"string","description":"City name"},"days":{"type":"integer","default":1,"minimum":1}},"required":["city"],"additionalProperties":false}`,
		OutputSchemaJson: `{"type":"object","properties":{"text":{"type":"string"},"days":{"type":"integer"}},"required":["text","days"]}`,
		Annotations:      &mcpedgev1.ToolAnnotations{ReadOnly: proto.Bool(true), Destructive: proto.Bool(false)}}
	if diff := cmp.Diff([]*mcpedgev1.Tool{want}, list.GetTools(), protocmp.Transform()); diff != "" {
		t.Errorf("ListTools (-want +got):\n%s", diff)
	}

	out, err := c.CallTool(limit(t), "weather_current", map[string]any{"city": "Oslo"})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Result.GetStructuredContentJson(); got != `{"text":"<sun> in Oslo","days":1}` || len(out.Result.GetContent()) != 0 {
		t.Errorf("result %v", out.Result)
	}
	out, err = c.CallTool(limit(t), "weather_current", map[string]any{"city": 7})
	if err != nil || out.Failure.GetReason() != capability.InvalidArgument || !strings.Contains(out.Failure.GetMessage(), `"city"`) {
		t.Errorf("a wrong argument: %v, %v", out.Failure, err)
	}
	out, err = c.CallTool(limit(t), "weather_past", nil)
	if err != nil || out.Failure.GetReason() != capability.NotFound {
		t.Errorf("an unknown tool: %v, %v", out.Failure, err)
	}
}

func TestToolOutputs(t *testing.T) {
	s := capability.New("out", "1")
	text := []*capability.Content{capability.Text("hi")}
	addTool(s, "string", func(context.Context, *capability.Call) (string, error) { return "hi", nil })
	addTool(s, "content", func(context.Context, *capability.Call) (*capability.Content, error) { return text[0], nil })
	addTool(s, "contents", func(context.Context, *capability.Call) ([]*capability.Content, error) { return text, nil })
	addTool(s, "full", func(context.Context, *capability.Call) (*capability.Result, error) {
		return &capability.Result{Content: text, Structured: json.RawMessage(`{"n":1.0}`), IsError: true, Meta: json.RawMessage(`{"m":1}`)}, nil
	}, capability.OutputType[struct {
		N float64 `json:"n"`
	}]())
	addTool(s, "empty", func(_ context.Context, c *capability.Call) (struct{}, error) {
		c.SetMeta(json.RawMessage(`{"x":1}`))
		return struct{}{}, nil
	})
	addTool(s, "any", func(context.Context, *capability.Call) (any, error) { return map[string]int{"a": 1}, nil })
	addTool(s, "any_text", func(context.Context, *capability.Call) (any, error) { return "hi", nil })
	addTool(s, "nil_list", func(context.Context, *capability.Call) ([]int, error) { return nil, nil })
	addTool(s, "nil_map", func(context.Context, *capability.Call) (map[string]int, error) { return nil, nil })
	addTool(s, "raw", func(context.Context, *capability.Call) (json.RawMessage, error) {
		return json.RawMessage(`[1, 2]`), nil
	})
	capability.AddRawTool(s, &capability.Tool{Name: "echo", InputSchemaJson: `{"type":"object", "x-own":1}`},
		func(_ context.Context, _ *capability.Call, args json.RawMessage) (*capability.Result, error) {
			return &capability.Result{Structured: args}, nil
		})
	c := capabilitytest.Start(t, s)
	for name, want := range map[string]*mcpedgev1.CallToolResult{
		"string": {Content: text}, "content": {Content: text}, "contents": {Content: text},
		"full":     {Content: text, StructuredContentJson: `{"n":1.0}`, IsError: true, MetaJson: `{"m":1}`},
		"empty":    {MetaJson: `{"x":1}`},
		"any":      {StructuredContentJson: `{"a":1}`},
		"any_text": {Content: text},
		"nil_list": {StructuredContentJson: `[]`}, "nil_map": {StructuredContentJson: `{}`},
		"raw": {StructuredContentJson: `[1, 2]`}, "echo": {StructuredContentJson: `{}`},
	} {
		out, err := c.CallTool(limit(t), name, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, out.Result, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestToolErrors(t *testing.T) {
	var logged bytes.Buffer
	s := capability.New("err", "1", capability.WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	fails := func(name string, err error) {
		addTool(s, name, func(context.Context, *capability.Call) (string, error) { return "", err })
	}
	cause := errors.New("disk full")
	fails("plain", errors.New("no such city"))
	fails("failure", fmt.Errorf("wrapped: %w", capability.Errorf(capability.FailedPrecondition, "cannot: %w", cause)))
	fails("data", &capability.Failure{Reason: capability.ResourceExhausted, Message: "slow down", Data: json.RawMessage(`{"after":3}`)})
	fails("utf8", errors.New("\xff"))
	fails("status", fmt.Errorf("upstream: %w", status.Error(codes.Unavailable, "away")))
	addTool(s, "panic", func(context.Context, *capability.Call) (string, error) { panic("boom") })
	addTool(s, "goexit", func(context.Context, *capability.Call) (string, error) { runtime.Goexit(); return "", nil })
	addTool(s, "nil", func(context.Context, *capability.Call) (*weather, error) { return nil, nil })
	c := capabilitytest.Start(t, s)

	if !errors.Is(capability.Errorf(capability.Internal, "x: %w", cause), cause) {
		t.Error("Errorf does not wrap")
	}
	out, err := c.CallTool(limit(t), "plain", nil)
	if err != nil || !out.Result.GetIsError() || out.Result.GetContent()[0].GetText().GetText() != "no such city" {
		t.Errorf("plain: %v, %v", out.Result, err)
	}
	if out, err := c.CallTool(limit(t), "utf8", nil); err != nil || said(out) != "\uFFFD" {
		t.Errorf("text that is not UTF-8: %v, %v", out, err)
	}
	for name, want := range map[string]*mcpedgev1.Failure{
		"failure": {Reason: capability.FailedPrecondition, Message: "cannot: disk full"},
		"data":    {Reason: capability.ResourceExhausted, Message: "slow down", DataJson: `{"after":3}`},
		"panic":   {Reason: capability.Internal, Message: "tool panic failed by a fault of the service"},
		"goexit":  {Reason: capability.Internal, Message: "the handler called runtime.Goexit; return an error instead"},
		"nil":     {Reason: capability.Internal, Message: "the tool returned a nil *capability_test.weather and no error"},
	} {
		out, err := c.CallTool(limit(t), name, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, out.Failure, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := c.CallTool(limit(t), "status", nil); status.Code(err) != codes.Unavailable {
		t.Errorf("status: %v", err)
	}
	if l := logged.String(); !strings.Contains(l, "boom") || !strings.Contains(l, "tools_test.go") {
		t.Errorf("the log lacks the panic or its stack: %s", l)
	}
}

func TestProgressAndLogInOrder(t *testing.T) {
	s := capability.New("events", "1")
	addTool(s, "work", func(_ context.Context, c *capability.Call) (string, error) {
		c.Progress(1, 3, "one")
		c.Progress(1, 3, "not risen")
		c.Log(capability.LevelInfo, "w", map[string]int{"n": 1})
		c.Log(capability.LevelDebug, "w", "below the level")
		c.Progress(2, 0, "two")
		c.Log(capability.LevelError, "", json.RawMessage(`"<raw>"`))
		c.Log(capability.LevelError, "", func() {})
		c.Logger("s").With("a", 1).WithGroup("g").Warn("slog", "level", "mine")
		c.Logger("s").Debug("below the level")
		return "done", nil
	})
	c := capabilitytest.Start(t, s)
	c.Context = &mcpedgev1.RequestContext{CallId: "id", ProgressWanted: true, LogLevel: capability.LevelInfo}
	stream, err := c.Tools.CallTool(limit(t), &mcpedgev1.CallToolRequest{Name: "work", Context: c.Context})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		m, err := stream.Recv()
		if err != nil {
			break
		}
		switch {
		case m.GetProgress() != nil:
			got = append(got, fmt.Sprintf("%v %v %s", m.GetProgress().GetProgress(), m.GetProgress().GetTotal(), m.GetProgress().GetMessage()))
		case m.GetLog() != nil:
			got = append(got, m.GetLog().GetLogger()+" "+m.GetLog().GetDataJson())
		default:
			got = append(got, m.GetResult().GetContent()[0].GetText().GetText())
		}
	}
	want := []string{"1 3 one", `w {"n":1}`, "2 0 two", ` "<raw>"`, ` "log data that is not JSON: json: unsupported type: func()"`,
		`s {"msg":"slog","a":1,"g":{"level":"mine"}}`, "done"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.Context = &mcpedgev1.RequestContext{CallId: "id"}
	out, err := c.CallTool(limit(t), "work", nil)
	if err != nil || len(out.Progress)+len(out.Logs) != 0 {
		t.Errorf("unwanted events were sent: %v %v, %v", out.Progress, out.Logs, err)
	}
}

func TestCallAccessors(t *testing.T) {
	s := capability.New("call", "1")
	addTool(s, "who", func(_ context.Context, c *capability.Call) (string, error) {
		return fmt.Sprint(c.ID(), c.Attempt(), c.Round(), c.Principal().GetSubject(), c.ClientInfo().GetName(),
			c.ClientCapabilities().GetElicitation().GetForm(), string(c.Meta()), c.LogLevel() == capability.LevelInfo,
			c.WantsProgress(), c.WantsLog(capability.LevelDebug), c.WantsLog(capability.LevelError)), nil
	})
	c := capabilitytest.Start(t, s)
	for _, tc := range []struct {
		context *mcpedgev1.RequestContext
		want    string
	}{
		{&mcpedgev1.RequestContext{CallId: "id", Attempt: 2, LogLevel: capability.LevelInfo, MetaJson: `{"a":1}`,
			Principal: &mcpedgev1.Principal{Subject: "me"}, ClientInfo: &mcpedgev1.Implementation{Name: "ide"},
			ClientCapabilities: &mcpedgev1.ClientCapabilities{Elicitation: &mcpedgev1.ElicitationCapability{Form: true}}},
			fmt.Sprint("id", 2, 1, "me", "ide", true, `{"a":1}`, true, false, false, true)},
		{&mcpedgev1.RequestContext{}, fmt.Sprint("", 0, 1, "", "", false, "", false, false, false, false)},
	} {
		c.Context = tc.context
		out, err := c.CallTool(limit(t), "who", nil)
		if err != nil || out.Result.GetContent()[0].GetText().GetText() != tc.want {
			t.Errorf("got %v, %v, want %s", out.Result, err, tc.want)
		}
	}
}

func TestCancellationReachesTheHandler(t *testing.T) {
	s := capability.New("cancel", "1")
	running, ended := make(chan struct{}), make(chan error, 1)
	addTool(s, "wait", func(ctx context.Context, _ *capability.Call) (string, error) {
		close(running)
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	})
	c := capabilitytest.Start(t, s)
	ctx, cancel := context.WithCancel(limit(t))
	go func() { <-running; cancel() }()
	if _, err := c.CallTool(ctx, "wait", nil); status.Code(err) != codes.Canceled {
		t.Errorf("the caller got %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler saw %v", err)
	}
}

func TestEventsAfterTheHandlerAreDropped(t *testing.T) {
	s := capability.New("late", "1")
	release, late := make(chan struct{}), make(chan struct{})
	addTool(s, "leak", func(_ context.Context, c *capability.Call) (string, error) {
		go func() {
			defer close(late)
			<-release
			c.Progress(1, 1, "late")
			c.Log(capability.LevelError, "", "late")
		}()
		return "done", nil
	})
	c := capabilitytest.Start(t, s)
	out, err := c.CallTool(limit(t), "leak", nil)
	close(release)
	<-late
	if err != nil || len(out.Progress)+len(out.Logs) != 0 || out.Result == nil {
		t.Errorf("%+v, %v", out, err)
	}
}
