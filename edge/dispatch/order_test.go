package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/quota"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// fullSink is a sink that takes no records.
type fullSink struct{ records }

func (*fullSink) Write(context.Context, []audit.Record) (int, error) { return 0, errors.New("full") }

// serverOf returns a client of a policy server.
func serverOf(t *testing.T, s *authorizer.Server) *external.Client {
	t.Helper()
	c, err := external.New(external.Options{Target: s.Addr, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// stages are those of a call of a tool, in order, and parts of their errors.
var stages = []struct{ name, answer string }{
	{"rules", "forbidden by policy rule"}, {"headers", "Mcp-Param-A"}, {"schema", "do not fit"}, {"policy server", "no, says the server"},
	{"quota", "quota"}, {"confirmation", "must confirm"}, {"audit", "audit"}, {"backend", "backend failed"},
}

// stageOf returns the place of a stage in the order.
func stageOf(name string) int {
	return slices.IndexFunc(stages, func(s struct{ name, answer string }) bool { return s.name == name })
}

// Of stages of a call that fail the first one in the order answers, and those after it do not run.
func TestStagesOfACall(t *testing.T) {
	for first, stage := range stages {
		fails := func(name string) bool { return stageOf(name) >= first }
		g, kept := newGuards(t), &records{}
		g.f.tools = []*pb.Tool{{Name: "one", InputSchemaJson: `{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"A"}}}`}}
		g.f.onCall = func(*pb.CallToolRequest, grpc.ServerStreamingServer[pb.CallToolResponse]) error {
			return status.Error(codes.Internal, "backend failed")
		}
		s := policy.Settings{Default: policy.Allow}
		if fails("confirmation") { // The client cannot be asked.
			s = guarded("Go?")
		}
		if fails("rules") {
			s.Default = policy.Deny
		}
		server := authorizer.Serve(t)
		if server.SetDecide(authorizer.Allow); fails("policy server") {
			server.SetDecide(authorizer.Deny("no, says the server"))
		}
		limit := quota.New(quota.Options{Rules: []quota.Rule{{Name: "few", Per: quota.PerTool, Budget: quota.Budget{Interval: time.Hour, Burst: 1}}}})
		spend := func() error { return limit.Spend(t.Context(), &quota.Call{Tool: "one", Backend: "a"}) }
		if fails("quota") {
			_ = spend()
		}
		sink := audit.Sink(kept)
		if stage.name == "audit" { // Refusals before it are recorded, too.
			sink = &fullSink{}
		}
		log := audit.New(audit.Options{Sinks: map[string]audit.Sink{"kept": sink}, Required: true, Logger: slog.New(slog.DiscardHandler)})
		p, err := policy.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		d := start(t, Options{Access: by(access.New(access.Options{Policy: p, External: serverOf(t, server), Quotas: limit, Records: log}))}, g.f)
		args, header := `{"a":1}`, "1"
		if fails("schema") {
			args, header = `{"a":"x"}`, "x"
		}
		if fails("headers") {
			header = "another"
		}
		call := request(t, mcp.MethodToolsCall, `{"name":"one","arguments":`+args+`}`)
		call.Header = http.Header{"Mcp-Param-A": {header}}
		reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
		answer := string(reply.Result)
		if err != nil {
			answer += err.Error()
		}
		if !strings.Contains(answer, stage.answer) {
			t.Errorf("from %q on all stages fail: answered %q", stage.name, answer)
		}
		if asked := len(server.Asked()) > 0; asked != (first >= stageOf("policy server")) {
			t.Errorf("%q fails: the policy server was asked: %t", stage.name, asked)
		}
		if charged := spend() != nil; charged != (first >= stageOf("confirmation") || fails("quota")) {
			t.Errorf("%q fails: charged: %t", stage.name, charged)
		}
		closing, cancel := context.WithCancel(t.Context())
		if stage.name == "audit" { // what it cannot write is waited for
			cancel()
		}
		_ = log.Close(closing)
		cancel()
		allowed := slices.ContainsFunc(kept.kept, func(r audit.Record) bool { return r.Verdict.Effect == audit.Allow })
		if n, _ := g.f.seen(); allowed != (stage.name == "backend") || (n > 0) != allowed {
			t.Errorf("%q fails: recorded as allowed: %t, %d calls reached the backend", stage.name, allowed, n)
		}
	}
}

// A policy server that does not answer occupies no place of the backend.
func TestSlowPolicyServersOccupyNoPlace(t *testing.T) {
	g := newGuards(t)
	g.f.concurrent = 1
	asked, answer := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	server := authorizer.Serve(t)
	server.SetDecide(func(ctx context.Context, req *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		if n.Add(1) == 1 {
			close(asked)
			<-answer
		}
		return authorizer.Allow(ctx, req)
	})
	p, err := policy.Compile(guarded())
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, Options{Access: by(access.New(access.Options{Policy: p, External: serverOf(t, server)}))}, g.f)
	over := make(chan error, 1)
	waiting := request(t, mcp.MethodToolsCall, `{"name":"one"}`)
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
