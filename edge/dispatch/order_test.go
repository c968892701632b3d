package dispatch

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// staged is a Decider whose stages fail by name, and that keeps the names of those that ran.
type staged struct {
	Decider
	failing []string
	mu      sync.Mutex
	ran     []string
	// asking runs while the policy server is asked; nil disables it.
	asking func()
}

func (s *staged) stage(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, name)
	if slices.Contains(s.failing, name) {
		return mcp.Errorf(mcp.KindForbidden, "stage %s", name)
	}
	return nil
}

func (s *staged) Decide(ctx context.Context, rules *revision.Rules, call *mcp.Call, t *policy.Target, args policy.Arguments) (string, error) {
	if err := s.stage("rules"); err != nil {
		return "", err
	}
	return s.Decider.Decide(ctx, rules, call, t, args)
}

func (s *staged) Ask(context.Context, *mcp.Call, string) error {
	if s.asking != nil {
		s.asking()
	}
	return s.stage("policy server")
}

func (s *staged) Charge(context.Context, *revision.Rules, *mcp.Call, string) error {
	return s.stage("quota")
}

func (s *staged) Allowed(context.Context, *revision.Rules, *mcp.Call, string, string, bool, bool) error {
	return s.stage("audit")
}

// The stages of a call of a tool, in order, and what the first of them that fails answers. Those after it do not run.
func TestStagesOfACall(t *testing.T) {
	stages := []struct{ name, answer string }{
		{"rules", "stage rules"}, {"headers", "Mcp-Param-A"}, {"schema", "do not fit"}, {"policy server", "stage policy server"},
		{"quota", "stage quota"}, {"confirmation", "must confirm"}, {"audit", "stage audit"}, {"backend", "backend failed"},
	}
	deciding := []string{"rules", "policy server", "quota", "audit"}
	for first, stage := range stages {
		g, failing, want := newGuards(t), []string{}, []string{}
		g.f.onCall = func(*pb.CallToolRequest, grpc.ServerStreamingServer[pb.CallToolResponse]) error {
			return mcp.Errorf(mcp.KindInternal, "backend failed")
		}
		g.f.tools = []*pb.Tool{{Name: "one", InputSchemaJson: `{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"A"}}}`}}
		for i, s := range stages {
			if i >= first {
				failing = append(failing, s.name)
			}
			if i <= first && slices.Contains(deciding, s.name) {
				want = append(want, s.name)
			}
		}
		s := policy.Settings{Default: policy.Allow}
		if slices.Contains(failing, "confirmation") { // of a client that cannot be asked
			s = guarded("Go?")
		}
		by := &staged{Decider: decider(t, s)(), failing: failing}
		d := start(t, Options{Access: func() Decider { return by }}, g.f)
		args, header := `{"a":1}`, http.Header{"Mcp-Param-A": {"1"}}
		if slices.Contains(failing, "schema") {
			args, header = `{"a":"x"}`, http.Header{"Mcp-Param-A": {"x"}}
		}
		if slices.Contains(failing, "headers") {
			header = http.Header{"Mcp-Param-A": {"another"}}
		}
		call := request(t, mcp.MethodToolsCall, `{"name":"one","arguments":`+args+`}`)
		call.Header = header
		reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
		got := string(reply.Result)
		if err != nil {
			got += err.Error()
		}
		if !strings.Contains(got, stage.answer) || !slices.Equal(by.ran, want) {
			t.Errorf("from %q on all stages fail: answered %q after the stages %q, want %q after %q", stage.name, got, by.ran, stage.answer, want)
		}
	}
}

// A policy server that does not answer occupies no place of the backend.
func TestSlowPolicyServersOccupyNoPlace(t *testing.T) {
	g := newGuards(t)
	g.f.concurrent = 1
	asked, answer := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	by := &staged{Decider: decider(t, guarded())(), asking: func() {
		if n.Add(1) == 1 {
			close(asked)
			<-answer
		}
	}}
	d := start(t, Options{Access: func() Decider { return by }}, g.f)
	waiting := request(t, mcp.MethodToolsCall, `{"name":"one"}`)
	var err error
	if waiting.Target, err = d.Resolve(t.Context(), rules(t, modern), waiting); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		_, err := d.Call(t.Context(), rules(t, modern), waiting, nil)
		over <- err
	}()
	await.Receive(t, "the policy server to be asked", asked)
	if _, err := g.call(d, rules(t, modern), 1, nil); err != nil {
		t.Errorf("another call meanwhile: %v", err)
	}
	close(answer)
	if err := await.Receive(t, "the call to end", over); err != nil {
		t.Error(err)
	}
}
