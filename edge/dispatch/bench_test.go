package dispatch

import (
	"errors"
	"io"
	"reflect"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// hotCalls are tools/calls over a real connection: of a tool that takes any object, and of one with
// a schema; and both through a set, under another name, the second with another description of an argument.
var hotCalls = map[string]hotCall{
	"free":      {"", `{"name":"echo","arguments":{"a":1,"b":2}}`},
	"typed":     {"", `{"name":"add","arguments":{"a":1,"b":2}}`},
	"renamed":   {"s", `{"name":"say","arguments":{"a":1,"b":2}}`},
	"described": {"s", `{"name":"total","arguments":{"a":1,"b":2}}`},
}

type hotCall struct{ set, params string }

// unredacted is the call free at a Dispatch that may redact, while the setting redact is empty.
const unredacted = "unredacted"

// hotPath returns functions that run each of hotCalls, and one that runs the bare RPC without the
// edge, as the baseline. hooks becomes Options.Hooks.
func hotPath(t testing.TB, hooks func() *hook.Chain) (calls map[string]func(), bare func()) {
	f := &fake{name: "a", tools: []*pb.Tool{{Name: "echo", InputSchemaJson: `{"type":"object"}`}, {Name: "add", InputSchemaJson: addSchema},
		{Name: "aside", InputSchemaJson: `{"type":"object"}`}, {Name: "sum", InputSchemaJson: addSchema}}}
	described := renamed("a", "sum", "total")
	described.Arguments = []overlay.Argument{{Name: "a", Description: "The first summand."}}
	f.onCall = stream(nil, toolText("hello"))
	d := start(t, Options{Hooks: hooks, Catalog: catalog.Options{
		Overlay: overlay.New(overlay.Entries{Tools: []overlay.Entry{renamed("a", "aside", "say"), described}}),
		Sets:    overlay.Sets{"s": {Name: "s", Include: overlay.Selection{Tools: pattern.NewList([]string{"aside", "sum"})}}},
	}}, f)
	r := rules(t, modern)
	calls = map[string]func(){}
	add := func(name string, d *Dispatch, hot hotCall) {
		sent := in(t, hot.set, mcp.MethodToolsCall, hot.params)
		call := new(mcp.Call)
		calls[name] = func() {
			*call = *sent
			if _, err := d.Call(t.Context(), r, call, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, hot := range hotCalls {
		add(name, d, hot)
	}
	add(unredacted, start(t, Options{Redact: func() *redact.Masker { return nil }}, f), hotCalls["free"])
	client := d.catalog.Shared().Parts[0].Backend.Tools()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "mcp-method", "tools/call", "mcp-name", "echo")
	return calls, func() {
		s, err := client.CallTool(ctx, &pb.CallToolRequest{Name: "echo", ArgumentsJson: `{"a":1,"b":2}`})
		for err == nil {
			_, err = s.Recv()
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	calls, bare := hotPath(b, nil)
	calls["bare RPC"] = bare
	for name, call := range calls {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// TestRoundIsSmall bounds what is made for every call, in bytes: what few calls need is made where they need it.
func TestRoundIsSmall(t *testing.T) {
	for one, most := range map[reflect.Type]uintptr{reflect.TypeFor[round](): 512, reflect.TypeFor[mcp.Call](): 760} {
		if one.Size() > most {
			t.Errorf("%s takes %d bytes, want at most %d: put what is rare behind a pointer", one, one.Size(), most)
		}
	}
}
