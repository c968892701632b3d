package check

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// sample is a backend that keeps the contract in all its RPCs, until a test replaces one of its answers.
type sample struct {
	pb.UnimplementedBackendServiceServer
	pb.UnimplementedToolServiceServer
	pb.UnimplementedResourceServiceServer
	pb.UnimplementedPromptServiceServer

	about     *pb.DescribeResponse
	tools     []*pb.Tool
	page      func(token string, size int32, n int) (start, end int, next string, err error)
	call      func(*pb.CallToolRequest, grpc.ServerStreamingServer[pb.CallToolResponse]) error
	read      func(uri string) []*pb.ReadResourceResponse
	get       func(name string) []*pb.GetPromptResponse
	complete  func() (values []string, total *int32, err error)
	feed      func(ctx context.Context, started func() error) error
	subscribe func(ctx context.Context, started func() error) error
}

// newSample is a sound backend.
func newSample() *sample {
	return &sample{
		about: &pb.DescribeResponse{
			Implementation: &pb.Implementation{Name: "sample", Version: "1"},
			Tools:          &pb.ToolFeatures{ListChanged: true},
			Resources:      &pb.ResourceFeatures{ListChanged: true, Subscribe: true, Completion: true},
			Prompts:        &pb.PromptFeatures{ListChanged: true, Completion: true},
		},
		tools: []*pb.Tool{
			{Name: "look", Annotations: &pb.ToolAnnotations{ReadOnly: proto.Bool(true)},
				OutputSchemaJson: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`},
			{Name: "find", Annotations: &pb.ToolAnnotations{ReadOnly: proto.Bool(true)}, InputSchemaJson: `{"type":"object","required":["q"]}`},
			{Name: "change"},
		},
		page: cut,
		call: func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
			switch {
			case r.GetName() == unknownName:
				return s.Send(notThere())
			case len(r.GetInputResponses()) == 0:
				return s.Send(asks(question("sure")))
			}
			return sendAll(s, step(1), step(2), gives(`{"n":1}`))
		},
		read: func(uri string) []*pb.ReadResourceResponse {
			if uri != "sample:a" && uri != "sample:b" {
				return []*pb.ReadResourceResponse{{Message: &pb.ReadResourceResponse_Failure{Failure: notFound()}}}
			}
			return []*pb.ReadResourceResponse{readable(&pb.ResourceContents{Uri: uri, Body: &pb.ResourceContents_Text{Text: "text"}})}
		},
		get: func(name string) []*pb.GetPromptResponse {
			if name != "greet" {
				return []*pb.GetPromptResponse{{Message: &pb.GetPromptResponse_Failure{Failure: notFound()}}}
			}
			return []*pb.GetPromptResponse{prompting(&pb.PromptMessage{Role: pb.Role_ROLE_USER, Content: text("hello")})}
		},
		complete:  func() ([]string, *int32, error) { return []string{"a", "b"}, proto.Int32(2), nil },
		feed:      stays,
		subscribe: stays,
	}
}

// cut makes pages as a sound backend does.
func cut(token string, size int32, n int) (start, end int, next string, err error) {
	if token != "" {
		if start, err = strconv.Atoi(token); err != nil {
			return 0, 0, "", status.Errorf(codes.InvalidArgument, "page token %q", token)
		}
	}
	if end = n; size > 0 {
		end = min(n, start+int(size))
	}
	if end < n {
		next = strconv.Itoa(end)
	}
	return start, end, next, nil
}

// stays is a feed that starts and stays open.
func stays(ctx context.Context, started func() error) error {
	if err := started(); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func notFound() *pb.Failure {
	return &pb.Failure{Reason: pb.FailureReason_FAILURE_REASON_NOT_FOUND, Message: "there is none"}
}

func fails(f *pb.Failure) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Failure{Failure: f}}
}

func notThere() *pb.CallToolResponse { return fails(notFound()) }

func step(n float64) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Progress{Progress: &pb.Progress{Progress: n}}}
}

func logs(l *pb.LogMessage) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Log{Log: l}}
}

func result(r *pb.CallToolResult) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Result{Result: r}}
}

func gives(structured string) *pb.CallToolResponse {
	return result(&pb.CallToolResult{StructuredContentJson: structured})
}

func requires(r *pb.InputRequired) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: r}}
}

func asks(questions ...*pb.InputRequest) *pb.CallToolResponse {
	return requires(&pb.InputRequired{Requests: questions})
}

func question(key string) *pb.InputRequest {
	return &pb.InputRequest{Key: key, Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{
		Message: "Sure?", RequestedSchemaJson: `{"type":"object","properties":{"sure":{"type":"boolean"}}}`}}}
}

func text(s string) *pb.ContentBlock {
	return &pb.ContentBlock{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: s}}}
}

func readable(contents ...*pb.ResourceContents) *pb.ReadResourceResponse {
	return &pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{Contents: contents}}}
}

func prompting(messages ...*pb.PromptMessage) *pb.GetPromptResponse {
	return &pb.GetPromptResponse{Message: &pb.GetPromptResponse_Result{Result: &pb.GetPromptResult{Messages: messages}}}
}

func sendAll[M any](s grpc.ServerStreamingServer[M], messages ...*M) error {
	for _, m := range messages {
		if err := s.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func (x *sample) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	if x.about == nil {
		return nil, status.Error(codes.Unimplemented, "no Describe")
	}
	return x.about, nil
}

func (x *sample) ListTools(_ context.Context, r *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	start, end, next, err := x.page(r.GetPageToken(), r.GetPageSize(), len(x.tools))
	if err != nil {
		return nil, err
	}
	return &pb.ListToolsResponse{Tools: x.tools[start:end], NextPageToken: next}, nil
}

func (x *sample) CallTool(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
	return x.call(r, s)
}

func (x *sample) WatchTools(_ *pb.WatchToolsRequest, s grpc.ServerStreamingServer[pb.WatchToolsResponse]) error {
	return x.feed(s.Context(), func() error {
		return s.Send(&pb.WatchToolsResponse{Event: &pb.WatchToolsResponse_Started{Started: &pb.WatchStarted{}}})
	})
}

func (x *sample) ListResources(_ context.Context, r *pb.ListResourcesRequest) (*pb.ListResourcesResponse, error) {
	all := []*pb.Resource{{Uri: "sample:a", Name: "a"}, {Uri: "sample:b", Name: "b"}}
	start, end, next, err := cut(r.GetPageToken(), r.GetPageSize(), len(all))
	if err != nil {
		return nil, err
	}
	return &pb.ListResourcesResponse{Resources: all[start:end], NextPageToken: next}, nil
}

func (x *sample) ListResourceTemplates(_ context.Context, r *pb.ListResourceTemplatesRequest) (*pb.ListResourceTemplatesResponse, error) {
	if _, _, _, err := cut(r.GetPageToken(), r.GetPageSize(), 1); err != nil {
		return nil, err
	}
	return &pb.ListResourceTemplatesResponse{ResourceTemplates: []*pb.ResourceTemplate{{UriTemplate: "sample:{name}", Name: "any"}}}, nil
}

func (x *sample) ReadResource(r *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
	return sendAll(s, x.read(r.GetUri())...)
}

func (x *sample) CompleteResourceTemplate(context.Context, *pb.CompleteResourceTemplateRequest) (*pb.CompleteResourceTemplateResponse, error) {
	values, total, err := x.complete()
	return &pb.CompleteResourceTemplateResponse{Values: values, Total: total}, err
}

func (x *sample) WatchResources(_ *pb.WatchResourcesRequest, s grpc.ServerStreamingServer[pb.WatchResourcesResponse]) error {
	return stays(s.Context(), func() error {
		return s.Send(&pb.WatchResourcesResponse{Event: &pb.WatchResourcesResponse_Started{Started: &pb.WatchStarted{}}})
	})
}

func (x *sample) WatchResource(_ *pb.WatchResourceRequest, s grpc.ServerStreamingServer[pb.WatchResourceResponse]) error {
	return x.subscribe(s.Context(), func() error {
		return s.Send(&pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Started{Started: &pb.WatchStarted{}}})
	})
}

func (x *sample) ListPrompts(_ context.Context, r *pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
	if _, _, _, err := cut(r.GetPageToken(), r.GetPageSize(), 1); err != nil {
		return nil, err
	}
	return &pb.ListPromptsResponse{Prompts: []*pb.Prompt{{Name: "greet", Arguments: []*pb.PromptArgument{{Name: "whom", Required: true}}}}}, nil
}

func (x *sample) GetPrompt(r *pb.GetPromptRequest, s grpc.ServerStreamingServer[pb.GetPromptResponse]) error {
	return sendAll(s, x.get(r.GetName())...)
}

func (x *sample) CompletePrompt(context.Context, *pb.CompletePromptRequest) (*pb.CompletePromptResponse, error) {
	values, total, err := x.complete()
	return &pb.CompletePromptResponse{Values: values, Total: total}, err
}

func (x *sample) WatchPrompts(_ *pb.WatchPromptsRequest, s grpc.ServerStreamingServer[pb.WatchPromptsResponse]) error {
	return stays(s.Context(), func() error {
		return s.Send(&pb.WatchPromptsResponse{Event: &pb.WatchPromptsResponse_Started{Started: &pb.WatchStarted{}}})
	})
}

// serve serves the sample until the test ends, each call bounded by limit calls at a time; 0: no bound.
func (x *sample) serve(t *testing.T, limit int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options := []grpc.ServerOption{}
	if limit > 0 {
		slots := make(chan struct{}, limit)
		take := func(ctx context.Context) error {
			select {
			case slots <- struct{}{}:
				return nil
			case <-ctx.Done():
				return fmt.Errorf("no slot: %w", ctx.Err())
			}
		}
		options = append(options,
			grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
				if err := take(ctx); err != nil {
					return nil, err
				}
				defer func() { <-slots }()
				return h(ctx, r)
			}),
			grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
				if err := take(s.Context()); err != nil {
					return err
				}
				defer func() { <-slots }()
				return h(srv, s)
			}))
	}
	s := grpc.NewServer(options...)
	pb.RegisterBackendServiceServer(s, x)
	pb.RegisterToolServiceServer(s, x)
	pb.RegisterResourceServiceServer(s, x)
	pb.RegisterPromptServiceServer(s, x)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return l.Addr().String()
}

// patient is for backends that answer, on a machine under load.
var patient = timing{
	reach: await.Patience, again: 200 * time.Millisecond, settle: await.Patience, watched: 150 * time.Millisecond, brief: 20 * time.Millisecond,
}

// shortTiming is for backends that do not answer.
var shortTiming = timing{
	reach: 500 * time.Millisecond, again: 200 * time.Millisecond, settle: 200 * time.Millisecond, watched: 100 * time.Millisecond, brief: 20 * time.Millisecond,
}

// run checks one backend.
func run(ctx context.Context, cfg backend.Config, trial *Trial, w io.Writer, timing *timing) error {
	return all(ctx, []backend.Config{cfg}, trial, w, timing)
}
