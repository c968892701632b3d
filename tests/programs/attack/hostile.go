package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that raw stands before
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// hostile is a backend whose schemas multiply and whose tools misbehave, each in the way of its name.
type hostile struct {
	mcpedgev1.UnimplementedBackendServiceServer
	mcpedgev1.UnimplementedToolServiceServer
	mcpedgev1.UnimplementedResourceServiceServer

	// running counts the calls that are with it.
	running atomic.Int64
	tools   map[string]hostileTool
	listed  []*mcpedgev1.Tool
}

type stream = grpc.ServerStreamingServer[mcpedgev1.CallToolResponse]

// hostileTool is one tool: its schema, empty for none, and what it does.
type hostileTool struct {
	schema string
	run    func(*mcpedgev1.CallToolRequest, stream) error
}

const (
	unreadBytes = 12 << 20 // of a result that is large, yet may be sent
	tooLarge    = 20 << 20 // of one that is beyond what a backend may send
	// events of the tool `million`.
	events = 1_000_000
)

func newHostile() *hostile {
	h := &hostile{tools: map[string]hostileTool{
		"chain":    {chainSchema(60), fine},
		"self":     {`{"type":"object","properties":{"a":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}}}`, fine},
		"mirrors":  {mirrorsSchema(), fine},
		"contains": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/l"}},"$defs":{"l":{"items":{"$ref":"#/$defs/l"},"contains":{"$ref":"#/$defs/l"}}}}`, fine},
		"numbers":  {`{"type":"object","properties":{"list":{"type":"array","items":{"type":"integer","minimum":10}}}}`, fine},
		"choices": {`{"type":"object","properties":{"list":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"boolean"},` +
			`{"type":"object","required":["a"]},{"type":"array","minItems":3}]}}}}`, fine},
		"anything": {"", fine},
		"hang": {"", func(_ *mcpedgev1.CallToolRequest, s stream) error {
			<-s.Context().Done()
			return s.Context().Err()
		}},
		"park":    {"", park},
		taskTool:  {"", park},
		"large":   {"", func(_ *mcpedgev1.CallToolRequest, s stream) error { return say(s, strings.Repeat("x", unreadBytes)) }},
		largeTask: {"", func(_ *mcpedgev1.CallToolRequest, s stream) error { return say(s, strings.Repeat("x", unreadBytes)) }},
		"told": {"", func(_ *mcpedgev1.CallToolRequest, s stream) error {
			return progressThen(s, 1, 10, strings.Repeat("x", unreadBytes))
		}},
		"huge":    {"", func(_ *mcpedgev1.CallToolRequest, s stream) error { return say(s, strings.Repeat("x", tooLarge)) }},
		"million": {"", func(_ *mcpedgev1.CallToolRequest, s stream) error { return progress(s, events, 1000) }},
		"endless": {"", func(_ *mcpedgev1.CallToolRequest, s stream) error { return progress(s, 1<<60, 16<<10) }},
		"silent":  {"", func(*mcpedgev1.CallToolRequest, stream) error { return nil }},
		"twice": {"", func(_ *mcpedgev1.CallToolRequest, s stream) error {
			_ = say(s, "one")
			return say(s, "two")
		}},
		"status": {"", func(*mcpedgev1.CallToolRequest, stream) error {
			return status.Error(codes.Code(4000), "goroutine 1 [running]:\npanic: "+strings.Repeat("y", 4096))
		}},
		"deep": {"", func(_ *mcpedgev1.CallToolRequest, s stream) error {
			return s.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Result{Result: &mcpedgev1.CallToolResult{
				StructuredContentJson: strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000)}}})
		}},
		"broken": {"", func(_ *mcpedgev1.CallToolRequest, s stream) error {
			return s.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Result{Result: &mcpedgev1.CallToolResult{
				StructuredContentJson: `{"a":`}}})
		}},
		"utf8": {"", func(_ *mcpedgev1.CallToolRequest, s stream) error { return s.SendMsg(raw(notUTF8())) }},
	}}
	for name, t := range h.tools {
		yes := true
		h.listed = append(h.listed, &mcpedgev1.Tool{Name: name, InputSchemaJson: t.schema, TaskSupport: taskSupport(name),
			Annotations: &mcpedgev1.ToolAnnotations{ReadOnly: &yes}})
	}
	return h
}

// chainSchema applies each of its definitions twice in the one before: 2^levels checks.
func chainSchema(levels int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/d0","$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":["object","array","integer"]}}}`, levels)
	return b.String()
}

func (h *hostile) server() *grpc.Server {
	s := newServer(grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2("proto")}))
	mcpedgev1.RegisterBackendServiceServer(s, h)
	mcpedgev1.RegisterToolServiceServer(s, h)
	mcpedgev1.RegisterResourceServiceServer(s, h)
	return s
}

// Describe implements the contract.
func (h *hostile) Describe(context.Context, *mcpedgev1.DescribeRequest) (*mcpedgev1.DescribeResponse, error) {
	return &mcpedgev1.DescribeResponse{
		Implementation: &mcpedgev1.Implementation{Name: "hostile", Version: "1"},
		Tools:          &mcpedgev1.ToolFeatures{},
		Resources:      &mcpedgev1.ResourceFeatures{Subscribe: true, UriPrefixes: []string{"attack://"}},
	}, nil
}

// ListTools implements the contract.
func (h *hostile) ListTools(context.Context, *mcpedgev1.ListToolsRequest) (*mcpedgev1.ListToolsResponse, error) {
	return &mcpedgev1.ListToolsResponse{Tools: h.listed}, nil
}

// CallTool implements the contract, badly.
func (h *hostile) CallTool(in *mcpedgev1.CallToolRequest, s stream) error {
	h.running.Add(1)
	defer h.running.Add(-1)
	t, ok := h.tools[in.Name]
	if !ok {
		return status.Errorf(codes.NotFound, "no tool %q", in.Name)
	}
	return t.run(in, s)
}

// ListResources implements the contract.
func (h *hostile) ListResources(context.Context, *mcpedgev1.ListResourcesRequest) (*mcpedgev1.ListResourcesResponse, error) {
	return &mcpedgev1.ListResourcesResponse{}, nil
}

// ListResourceTemplates implements the contract.
func (h *hostile) ListResourceTemplates(context.Context, *mcpedgev1.ListResourceTemplatesRequest) (*mcpedgev1.ListResourceTemplatesResponse, error) {
	return &mcpedgev1.ListResourceTemplatesResponse{}, nil
}

// WatchResource implements the contract: whatever is asked for can be watched.
func (h *hostile) WatchResource(_ *mcpedgev1.WatchResourceRequest, s grpc.ServerStreamingServer[mcpedgev1.WatchResourceResponse]) error {
	err := s.Send(&mcpedgev1.WatchResourceResponse{Event: &mcpedgev1.WatchResourceResponse_Started{Started: &mcpedgev1.WatchStarted{}}})
	<-s.Context().Done()
	return err
}

// fine is the answer of a tool whose attack is its schema.
func fine(in *mcpedgev1.CallToolRequest, s stream) error {
	return say(s, fmt.Sprintf("%d bytes of arguments, %d answers", len(in.ArgumentsJson), len(in.InputResponses)))
}

func say(s stream, text string) error {
	return s.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Result{Result: &mcpedgev1.CallToolResult{
		Content: []*mcpedgev1.ContentBlock{{Content: &mcpedgev1.ContentBlock_Text{Text: &mcpedgev1.TextContent{Text: text}}}}}}})
}

// park asks the user, who will never answer.
func park(_ *mcpedgev1.CallToolRequest, s stream) error {
	return s.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_InputRequired{InputRequired: &mcpedgev1.InputRequired{
		Requests: []*mcpedgev1.InputRequest{{Key: "name", Request: &mcpedgev1.InputRequest_ElicitForm{ElicitForm: &mcpedgev1.ElicitForm{
			Message: "Who are you?", RequestedSchemaJson: `{"type":"object","properties":{"name":{"type":"string"}}}`}}}},
		State: []byte("parked"),
	}}})
}

// progress sends n events, with messages of so many bytes, as fast as they are taken, then a result.
func progress(s stream, n, size int) error { return progressThen(s, n, size, "done") }

func progressThen(s stream, n, size int, result string) error {
	text := strings.Repeat("p", size)
	for i := range n {
		if err := s.Send(&mcpedgev1.CallToolResponse{Message: &mcpedgev1.CallToolResponse_Progress{
			Progress: &mcpedgev1.Progress{Progress: float64(i + 1), Message: text}}}); err != nil {
			return err
		}
	}
	return say(s, result)
}

// raw is a message whose bytes are sent as they are.
type raw []byte

// rawCodec lets raw past the codec it stands before.
type rawCodec struct{ encoding.CodecV2 }

// Marshal implements encoding.CodecV2.
func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// notUTF8 is a result whose text is not UTF-8.
func notUTF8() []byte {
	nest := func(field protowire.Number, inner []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), inner)
	}
	return nest(3, nest(1, nest(1, nest(1, []byte("\xff\xfe\x00\xc0")))))
}
