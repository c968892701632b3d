package main

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// badge is a backend that records with which token each call came. It has a tool that answers, one that asks, and one that is a task, with its name
// before theirs.
type badge struct {
	pb.UnimplementedToolServiceServer
	name string

	mu  sync.Mutex
	got map[string][]string // tokens, by the argument tag

	addr   string
	server *grpc.Server
	served chan struct{}
}

// startBadge serves it until stop.
func startBadge(name string) (*badge, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &badge{name: name, got: map[string][]string{}, addr: l.Addr().String(), server: newServer(), served: make(chan struct{})}
	pb.RegisterToolServiceServer(b.server, b)
	go func() {
		defer close(b.served)
		_ = b.server.Serve(l)
	}()
	return b, nil
}

func (b *badge) stop() {
	b.server.Stop()
	<-b.served
}

// taken returns the tokens since the last time, by tag.
func (b *badge) taken() map[string][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.got = map[string][]string{} }()
	return b.got
}

// ListTools implements the contract.
func (b *badge) ListTools(context.Context, *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	return &pb.ListToolsResponse{Tools: []*pb.Tool{
		{Name: b.name + "_show"}, {Name: b.name + "_ask"},
		{Name: b.name + "_task", TaskSupport: &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_REQUIRED}},
	}}, nil
}

// CallTool implements the contract.
func (b *badge) CallTool(in *pb.CallToolRequest, s stream) error {
	var args struct{ Tag string }
	_ = json.Unmarshal([]byte(in.GetArgumentsJson()), &args) // They are the attack's own.
	sent, _ := metadata.FromIncomingContext(s.Context())
	b.mu.Lock()
	b.got[args.Tag] = append(b.got[args.Tag], sent["authorization"]...)
	b.mu.Unlock()
	if strings.HasSuffix(in.GetName(), "_ask") && len(in.GetInputResponses()) == 0 {
		return s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: &pb.InputRequired{
			Requests: []*pb.InputRequest{elicitForm("pin", "Your PIN?", "pin")},
		}}})
	}
	return say(s, "shown by "+b.name)
}
