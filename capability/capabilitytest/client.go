// Package capabilitytest calls a capability.Server in tests as the edge does: over gRPC, with as
// many rounds as a handler requires.
package capabilitytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mcpedge/mcpedge/capability"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// maxRounds is the maximum number of rounds of a call.
const maxRounds = 32

// Client calls a Server on a loopback port. RPCs without a method here can be called with the
// generated clients of the contract.
type Client struct {
	Tools     mcpedgev1.ToolServiceClient
	Resources mcpedgev1.ResourceServiceClient
	Prompts   mcpedgev1.PromptServiceClient
	Backend   mcpedgev1.BackendServiceClient
	// Conn is the connection that all calls use.
	Conn *grpc.ClientConn
	// Principal is the caller. nil uses the principal of Context; if that is nil too, the caller is anonymous.
	Principal *capability.Principal
	// Context is sent with every call, with the number of the round set. nil means a client that
	// wants progress and all log levels, and supports every question.
	Context *RequestContext
	// Answer answers a question; the key of its result is set by the caller. A nil result leaves
	// the question unanswered. If Answer is nil, a question ends the call with
	// Outcome.InputRequired.
	Answer func(*capability.InputRequest) *capability.InputResponse
}

// Outcome holds the events and the end of a call. Exactly one of Result, InputRequired and Failure
// is set.
type Outcome[R any] struct {
	Result        *R
	InputRequired *mcpedgev1.InputRequired
	Failure       *mcpedgev1.Failure
	Progress      []*mcpedgev1.Progress
	Logs          []*mcpedgev1.LogMessage
	// Asked are the questions of all rounds, in order.
	Asked []*capability.InputRequest
	// Rounds is the number of times the handler ran.
	Rounds int
}

// The results of an Outcome, and the context of a call, as the contract has them.
type (
	// ToolResult is the result of Client.CallTool.
	ToolResult = mcpedgev1.CallToolResult
	// ReadResult is the result of Client.ReadResource.
	ReadResult = mcpedgev1.ReadResourceResult
	// RequestContext is the context that the edge sends with each call.
	RequestContext = mcpedgev1.RequestContext
)

// IsError reports whether a tool failed in a way that the model sees: by a result with `isError`,
// or by a Failure with the reason InvalidArgument or FailedPrecondition, which the edge converts to
// such a result.
func (o *Outcome[R]) IsError() bool {
	r, isTool := any(o.Result).(*ToolResult)
	reason := o.Failure.GetReason()
	return isTool && (r.GetIsError() || reason == capability.InvalidArgument || reason == capability.FailedPrecondition)
}

// Text returns the texts of a tool's content, of a read or of a prompt's messages, one line each.
// Without a result, it returns the failure or the keys of the questions. A failure that the model
// sees (IsError) is returned as its message alone.
func (o *Outcome[R]) Text() string {
	var texts []string
	add := func(c interface{ GetText() string }) {
		if t := c.GetText(); t != "" {
			texts = append(texts, t)
		}
	}
	switch r := any(o.Result).(type) {
	case *ToolResult:
		for _, c := range r.GetContent() {
			add(c.GetText())
		}
	case *ReadResult:
		for _, c := range r.GetContents() {
			add(c)
		}
	case *capability.PromptResult:
		for _, m := range r.GetMessages() {
			add(m.GetContent().GetText())
		}
	}
	if o.IsError() && o.Failure != nil {
		texts = append(texts, o.Failure.GetMessage())
	} else if o.Failure != nil {
		texts = append(texts, fmt.Sprintf("the call failed: %v: %s", o.Failure.GetReason(), o.Failure.GetMessage()))
	}
	for _, r := range o.InputRequired.GetRequests() {
		texts = append(texts, fmt.Sprintf("the call asks for %q; give it an answer", r.GetKey()))
	}
	return strings.Join(texts, "\n")
}

// Start serves s until the test ends.
func Start(t testing.TB, s *capability.Server) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		t.Fatalf("a client for %v: %v", l.Addr(), err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &Client{Conn: conn, Tools: mcpedgev1.NewToolServiceClient(conn),
		Resources: mcpedgev1.NewResourceServiceClient(conn), Prompts: mcpedgev1.NewPromptServiceClient(conn),
		Backend: mcpedgev1.NewBackendServiceClient(conn)}
}

// message is the common interface of the messages that tool calls, reads and prompts stream.
type message interface {
	GetProgress() *mcpedgev1.Progress
	GetLog() *mcpedgev1.LogMessage
	GetInputRequired() *mcpedgev1.InputRequired
	GetFailure() *mcpedgev1.Failure
}

// CallTool calls a tool through all its rounds. arguments must encode as a JSON object; nil means
// no arguments. The error is a gRPC status, or describes a violation of the contract by the
// service.
func (c *Client) CallTool(ctx context.Context, name string, arguments any) (*Outcome[mcpedgev1.CallToolResult], error) {
	text := []byte("{}")
	if arguments != nil {
		var err error
		if text, err = json.Marshal(arguments); err != nil {
			return nil, fmt.Errorf("the arguments of %s: %w", name, err)
		}
	}
	return rounds(c, func(rc *mcpedgev1.RequestContext, a []*mcpedgev1.InputResponse, state []byte) (grpc.ServerStreamingClient[mcpedgev1.CallToolResponse], error) {
		return c.Tools.CallTool(ctx, &mcpedgev1.CallToolRequest{Name: name, ArgumentsJson: string(text), Context: rc, InputResponses: a, State: state})
	}, (*mcpedgev1.CallToolResponse).GetResult)
}

// ReadResource reads a resource through all its rounds, as CallTool does.
func (c *Client) ReadResource(ctx context.Context, uri string) (*Outcome[mcpedgev1.ReadResourceResult], error) {
	return rounds(c, func(rc *mcpedgev1.RequestContext, a []*mcpedgev1.InputResponse, state []byte) (grpc.ServerStreamingClient[mcpedgev1.ReadResourceResponse], error) {
		return c.Resources.ReadResource(ctx, &mcpedgev1.ReadResourceRequest{Uri: uri, Context: rc, InputResponses: a, State: state})
	}, (*mcpedgev1.ReadResourceResponse).GetResult)
}

// GetPrompt gets a prompt through all its rounds, as CallTool does.
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string) (*Outcome[mcpedgev1.GetPromptResult], error) {
	return rounds(c, func(rc *mcpedgev1.RequestContext, a []*mcpedgev1.InputResponse, state []byte) (grpc.ServerStreamingClient[mcpedgev1.GetPromptResponse], error) {
		return c.Prompts.GetPrompt(ctx, &mcpedgev1.GetPromptRequest{Name: name, Arguments: arguments, Context: rc, InputResponses: a, State: state})
	}, (*mcpedgev1.GetPromptResponse).GetResult)
}

// Complete returns the suggestions for an argument of a prompt, by its name, or for a variable of a
// resource template, by its URI template. chosen are the arguments already completed.
func (c *Client) Complete(ctx context.Context, of, argument, value string, chosen map[string]string) ([]string, error) {
	if strings.Contains(of, "{") {
		out, err := c.Resources.CompleteResourceTemplate(ctx, &mcpedgev1.CompleteResourceTemplateRequest{UriTemplate: of,
			ArgumentName: argument, ArgumentValue: value, ContextArguments: chosen, Context: c.context(1)})
		return out.GetValues(), err
	}
	out, err := c.Prompts.CompletePrompt(ctx, &mcpedgev1.CompletePromptRequest{Name: of,
		ArgumentName: argument, ArgumentValue: value, ContextArguments: chosen, Context: c.context(1)})
	return out.GetValues(), err
}

// Cancel notifies a tool, as the edge does, that one of its tasks was cancelled between two rounds:
// Server.OnCancel. state is that of Outcome.InputRequired of the round before; nil means none.
func (c *Client) Cancel(ctx context.Context, tool string, state []byte) error {
	_, err := c.Tools.CancelCall(ctx, &mcpedgev1.CancelCallRequest{Name: tool, State: state, Context: c.context(1)})
	return err
}

// rounds runs one call to its end. Each round carries the latest answers only, as with the edge.
func rounds[M any, PM interface {
	*M
	message
}, R any](c *Client,
	open func(*mcpedgev1.RequestContext, []*mcpedgev1.InputResponse, []byte) (grpc.ServerStreamingClient[M], error),
	result func(*M) *R) (*Outcome[R], error) {
	var (
		out     Outcome[R]
		answers []*mcpedgev1.InputResponse
		state   []byte
	)
	for out.Rounds < maxRounds {
		out.Rounds++
		out.InputRequired = nil
		stream, err := open(c.context(out.Rounds), answers, state)
		if err != nil {
			return &out, err
		}
		if err := drain[M, PM](stream, &out, result); err != nil {
			return &out, err
		}
		out.Asked = append(out.Asked, out.InputRequired.GetRequests()...)
		if out.InputRequired == nil || c.Answer == nil {
			return &out, nil
		}
		answers, state = c.answers(out.InputRequired.GetRequests()), out.InputRequired.GetState()
	}
	return &out, endless(c, out.Asked, out.InputRequired.GetRequests())
}

// endless returns the error of a call that asks in each round. It names the questions of the last
// round, and why those that were asked before are repeated.
func endless(c *Client, asked, last []*mcpedgev1.InputRequest) error {
	var questions []string
	for _, r := range last {
		q, before := fmt.Sprintf("%q", r.GetKey()), 0
		for _, a := range asked {
			if a.GetKey() == r.GetKey() {
				before++
			}
		}
		switch {
		case c.Answer(r) == nil:
			q += ", for which Client.Answer returns nil"
		case before > 1:
			q += ", whose answer its form refuses"
		}
		questions = append(questions, q)
	}
	return fmt.Errorf("after %d rounds the call still asks for %s", maxRounds, strings.Join(questions, "; "))
}

// drain reads the messages of one round: events, one outcome, and the end of the stream.
func drain[M any, PM interface {
	*M
	message
}, R any](stream grpc.ServerStreamingClient[M], out *Outcome[R], result func(*M) *R) error {
	ended := false
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && ended:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the stream ended without an outcome")
		case err != nil:
			return err
		case ended:
			return errors.New("a message came after the outcome")
		}
		pm := PM(m)
		if p := pm.GetProgress(); p != nil {
			out.Progress = append(out.Progress, p)
			continue
		}
		if l := pm.GetLog(); l != nil {
			out.Logs = append(out.Logs, l)
			continue
		}
		out.Result, out.InputRequired, out.Failure = result(m), pm.GetInputRequired(), pm.GetFailure()
		if out.Result == nil && out.InputRequired == nil && out.Failure == nil {
			return errors.New("a message without content came")
		}
		ended = true
	}
}
