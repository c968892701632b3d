package hook

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
)

// Messages of the contract.
type (
	// Call is the request that a hook checks.
	Call = hookv1.Call
	// Answer is the client's answer to a question of a backend.
	Answer = hookv1.Answer
	// Outcome is the result or the error of a backend.
	Outcome = hookv1.Outcome
	// Entry is a tool, a prompt, a resource or a template of a list.
	Entry = hookv1.ListEntry
)

// Hook has a function for each kind of check. If the edge requests a check whose function is nil,
// it counts as a failure of the hook. A function changes its last argument in place; Request may
// change Call.ArgumentsJson only. It returns nil to pass the changed value, the error of Deny to
// deny it, and any other error if it cannot check it. The functions are called concurrently.
type Hook struct {
	// Request checks a request.
	Request func(ctx context.Context, call *Call) error
	// Answers checks the client's answers to questions.
	Answers func(ctx context.Context, call *Call, answers []*Answer) error
	// Result checks the result of a backend.
	Result func(ctx context.Context, call *Call, out *Outcome) error
	// Entry checks an entry of a list. It may change Title and Description; an entry that it denies is hidden.
	Entry func(ctx context.Context, entry *Entry) error
}

// denied is the error of Deny.
type denied struct{ reason string }

func (d *denied) Error() string { return "denied: " + d.reason }

// Deny returns the error that denies a check. The client sees the reason, of at most 200
// characters; it may be empty.
func Deny(reason string) error { return &denied{reason} }

// Denyf is Deny with a format.
func Denyf(format string, args ...any) error { return Deny(fmt.Sprintf(format, args...)) }

// maxMessage is the maximum size of a message, in bytes: the default of the edge for backends, and
// room for the rest.
const maxMessage = 20 << 20

// Serve serves a hook on a TCP address until ctx ends, and then waits for running checks. It also serves grpc.health.v1.
func Serve(ctx context.Context, address string, h Hook, options ...grpc.ServerOption) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return h.ServeListener(ctx, l, options...)
}

// ServeListener is Serve on a listener, which it closes.
func (h Hook) ServeListener(ctx context.Context, l net.Listener, options ...grpc.ServerOption) error {
	g := grpc.NewServer(append([]grpc.ServerOption{grpc.MaxRecvMsgSize(maxMessage)}, options...)...)
	h.Register(g)
	healthv1.RegisterHealthServer(g, health.NewServer())
	stop := context.AfterFunc(ctx, g.GracefulStop)
	defer stop()
	return g.Serve(l)
}

// Register adds the hook to a gRPC server.
func (h Hook) Register(s grpc.ServiceRegistrar) { hookv1.RegisterHookServiceServer(s, &server{h: h}) }

// server implements hookv1.HookService.
type server struct {
	hookv1.UnimplementedHookServiceServer
	h Hook
}

// verdict converts the error of a function to the verdict of the contract.
func verdict(err error) (*hookv1.Deny, error) {
	var d *denied
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &d):
		return &hookv1.Deny{Reason: d.reason}, nil
	}
	if _, is := status.FromError(err); is {
		return nil, err
	}
	return nil, status.Error(codes.Internal, err.Error())
}

// CheckRequest implements hookv1.HookServiceServer.
func (s *server) CheckRequest(ctx context.Context, req *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
	var err error
	changed := &hookv1.RequestReplacement{}
	isChanged := false
	switch was := req.GetCall().GetArgumentsJson(); {
	case len(req.GetAnswers()) > 0 && s.h.Answers != nil:
		before := proto.CloneOf(req)
		err = s.h.Answers(ctx, req.GetCall(), req.GetAnswers())
		changed.Answers = req.GetAnswers()
		for i, a := range req.GetAnswers() {
			isChanged = isChanged || !proto.Equal(a, before.GetAnswers()[i])
		}
	case len(req.GetAnswers()) == 0 && s.h.Request != nil:
		err = s.h.Request(ctx, req.GetCall())
		changed.ArgumentsJson = req.GetCall().GetArgumentsJson()
		isChanged = changed.GetArgumentsJson() != was
	default:
		return nil, status.Error(codes.Unimplemented, "the hook does not check this: take it out of the setting hooks[].on")
	}
	deny, err := verdict(err)
	switch {
	case err != nil:
		return nil, err
	case deny != nil:
		return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Deny{Deny: deny}}, nil
	case isChanged:
		return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Replace{Replace: changed}}, nil
	}
	return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Pass{Pass: &hookv1.Pass{}}}, nil
}

// CheckList implements hookv1.HookServiceServer.
func (s *server) CheckList(ctx context.Context, req *hookv1.CheckListRequest) (*hookv1.CheckListResponse, error) {
	if s.h.Entry == nil {
		return nil, status.Error(codes.Unimplemented, "the hook checks no lists: take list out of the setting hooks[].on")
	}
	out := &hookv1.CheckListResponse{}
	for _, e := range req.GetEntries() {
		title, description := e.GetTitle(), e.GetDescription()
		deny, err := verdict(s.h.Entry(ctx, e))
		v := &hookv1.ListVerdict{Verdict: &hookv1.ListVerdict_Pass{Pass: &hookv1.Pass{}}}
		switch {
		case err != nil:
			return nil, err
		case deny != nil:
			v.Verdict = &hookv1.ListVerdict_Deny{Deny: deny}
		case title != e.GetTitle() || description != e.GetDescription():
			v.Verdict = &hookv1.ListVerdict_Replace{Replace: &hookv1.ListTexts{Title: e.GetTitle(), Description: e.GetDescription()}}
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	return out, nil
}

// CheckResult implements hookv1.HookServiceServer.
func (s *server) CheckResult(ctx context.Context, req *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
	if s.h.Result == nil {
		return nil, status.Error(codes.Unimplemented, "the hook checks no results: take result out of the setting hooks[].on")
	}
	before := proto.CloneOf(req.GetOutcome())
	deny, err := verdict(s.h.Result(ctx, req.GetCall(), req.GetOutcome()))
	switch {
	case err != nil:
		return nil, err
	case deny != nil:
		return &hookv1.CheckResultResponse{Verdict: &hookv1.CheckResultResponse_Deny{Deny: deny}}, nil
	case !proto.Equal(before, req.GetOutcome()):
		return &hookv1.CheckResultResponse{Verdict: &hookv1.CheckResultResponse_Replace{Replace: req.GetOutcome()}}, nil
	}
	return &hookv1.CheckResultResponse{Verdict: &hookv1.CheckResultResponse_Pass{Pass: &hookv1.Pass{}}}, nil
}
