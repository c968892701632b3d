package dispatch

import (
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
)

// openRules and closedRules allow and deny calls of find. pinsVerbose pins an argument of it.
var (
	openRules   = policy.Settings{Default: policy.Allow}
	closedRules = policy.Settings{Default: policy.Allow, Rules: []policy.Rule{{Name: "closed", Then: policy.Deny, When: `tool.name == "find"`}}}
)

func pinsVerbose() *overlay.Overlay {
	return overlay.New(overlay.Entries{Tools: []overlay.Entry{{
		Backend: "one", Names: pattern.New("find"), Arguments: []overlay.Argument{{Name: "verbose", Pin: overlay.Fixed(`false`)}},
	}}})
}

// finder is a backend with the tool find, which records the arguments that it gets.
func finder() (f *fake, got func() []string) {
	var mu sync.Mutex
	var all []string
	f = &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: `{"type":"object","properties":{"query":{"type":"string"},"verbose":{"type":"boolean"}}}`}}}
	f.onCall = func(in *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		mu.Lock()
		all = append(all, in.GetArgumentsJson())
		mu.Unlock()
		return s.Send(toolText("found"))
	}
	return f, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// A request is resolved and decided by the catalog and the policy of one generation of settings,
// whenever they are exchanged. With neither generation may a caller send the argument: the first
// denies the tool, the second pins it.
func TestOneGenerationDecides(t *testing.T) {
	f, got := finder()
	closed, open := control(t, closedRules), control(t, openRules).Policy()
	was := closed.Policy()
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}, Access: by(closed)}, f)
	evil := func() *mcp.Call {
		return request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x","verbose":true}}`)
	}
	refused := func(when string, want mcp.Kind) {
		t.Helper()
		if _, err := d.Call(t.Context(), rules(t, modern), evil(), nil); kindOf(t, err) != want {
			t.Errorf("%s: %v", when, err)
		}
	}
	refused("before", mcp.KindForbidden)
	d.Catalog().Replace(pinsVerbose(), nil, func() {
		closed.SetPolicy(open, nil)
		refused("within the exchange", mcp.KindForbidden)
	}, false)
	refused("afterwards", mcp.KindInvalidParams)
	listed := func() int {
		p, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, mcp.Principal{})
		if err != nil {
			t.Fatal(err)
		}
		return len(p.names())
	}
	d.Catalog().Replace(nil, nil, func() {
		closed.SetPolicy(was, nil)
		refused("within the exchange back", mcp.KindInvalidParams)
		if listed() != 1 {
			t.Error("the list is that of the next generation")
		}
	}, false)
	refused("after the exchange back", mcp.KindForbidden)
	if sent := got(); len(sent) > 0 {
		t.Errorf("the backend got %q", sent)
	}
}

// A request that was resolved before an exchange runs as it was resolved and decided.
func TestResolvedBeforeAnExchange(t *testing.T) {
	f, got := finder()
	c := control(t, openRules)
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Overlay: pinsVerbose()}, Access: by(c)}, f)
	call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x"}}`)
	var err error
	if call.Target, err = d.Resolve(t.Context(), rules(t, modern), call); err != nil {
		t.Fatal(err)
	}
	d.Catalog().Replace(nil, nil, func() { c.SetPolicy(control(t, closedRules).Policy(), nil) }, false)
	if _, err := d.Call(t.Context(), rules(t, modern), call, nil); err != nil {
		t.Error(err)
	}
	if sent := got(); len(sent) != 1 || sent[0] != `{"query":"x","verbose":false}` {
		t.Errorf("the backend got %q", sent)
	}
}

// A request whose policy server was closed by an exchange before it was asked is decided again, by
// rules and policy server in force. It does not run if the catalog was changed with them.
func TestPolicyServerOfAnEarlierGeneration(t *testing.T) {
	f, got := finder()
	server := authorizer.Serve(t)
	open := func() *external.Client {
		client, err := external.New(external.Options{Target: server.Addr, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}
	c := control(t, openRules)
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}, Access: by(c)}, f)
	for _, x := range []struct {
		what  string
		rules policy.Settings
		with  *overlay.Overlay
		want  mcp.Kind
	}{
		{"other rules that allow it", openRules, nil, 0},
		{"rules that deny it", closedRules, nil, mcp.KindForbidden},
		{"another catalog", openRules, pinsVerbose(), mcp.KindUnavailable},
	} {
		asked := open()
		d.Catalog().Replace(nil, nil, func() { c.SetPolicy(control(t, openRules).Policy(), asked) }, false)
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x","verbose":true}}`)
		var err error
		if call.Target, err = d.Resolve(t.Context(), rules(t, modern), call); err != nil {
			t.Fatal(err)
		}
		d.Catalog().Replace(x.with, nil, func() { c.SetPolicy(control(t, x.rules).Policy(), open()) }, false)
		asked.Close()
		if _, err = d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != x.want {
			t.Errorf("%s: %v", x.what, err)
		}
	}
	if sent := got(); len(sent) != 1 {
		t.Errorf("the backend got %q", sent)
	}
}
