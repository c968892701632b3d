package dispatch

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// large is the approximate size of the rendered result of the tool "large".
const large = 1 << 20

func largeTool(t *testing.T) *Dispatch {
	d, _ := largeToolSeen(t)
	return d
}

// largeToolSeen returns largeTool, and a channel with the first ten calls that reach the backend.
func largeToolSeen(t *testing.T) (*Dispatch, chan struct{}) {
	seen := make(chan struct{}, 10)
	f := &fake{name: "a", tools: []*pb.Tool{{Name: "large", InputSchemaJson: `{"type":"object","properties":{"a":{"type":"string"}}}`}}}
	answer := stream(nil, toolText(strings.Repeat("x", large)))
	f.onCall = func(in *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		select {
		case seen <- struct{}{}:
		default:
		}
		return answer(in, s)
	}
	return start(t, Options{}, f), seen
}

// A completed call is charged only with its result, whether or not the budget had room for the
// largest message.
func TestCallIsChargedWithItsResult(t *testing.T) {
	d := largeTool(t)
	for name, limit := range map[string]int64{"roomy": 1 << 30, "tight": 40 << 20} {
		b := budget.New(limit)
		memory := b.Named("caller").Begin()
		call := request(t, mcp.MethodToolsCall, `{"name":"large"}`)
		call.Memory = &memory
		reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if used, _ := b.Used(); used != whileSent*int64(len(reply.Result)) || used < large || b.UsedFor(budget.Results) != used {
			t.Errorf("%s: %d bytes are held for a result of %d", name, used, len(reply.Result))
		}
		memory.Release()
		if used, holders := b.Used(); used != 0 || holders != 0 {
			t.Errorf("%s: %d bytes of %d holders are left", name, used, holders)
		}
	}
}

// measure calls the tool once, so that the size of its messages is known.
func measure(t *testing.T, d *Dispatch, b *budget.Budget) {
	t.Helper()
	memory := b.Named("first").Begin()
	defer memory.Release()
	call := request(t, mcp.MethodToolsCall, `{"name":"large"}`)
	call.Memory = &memory
	if _, err := d.Call(t.Context(), rules(t, modern), call, nil); err != nil {
		t.Fatal(err)
	}
}

// A result stays at its backend until the budget has room or the call's deadline passes.
func TestResultWaitsForRoom(t *testing.T) {
	d, seen := largeToolSeen(t)
	b := budget.New(40 << 20)
	measure(t, d, b)
	<-seen
	hog, err := b.Named("caller").Reserve(budget.Logs, b.Limit()*9/10)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(ctx context.Context) (*budget.Reservation, chan error) {
		memory := b.Named("caller").Begin()
		call := request(t, mcp.MethodToolsCall, `{"name":"large"}`)
		call.Memory = &memory
		got := make(chan error, 1)
		go func() {
			_, err := d.Call(ctx, rules(t, modern), call, nil)
			got <- err
		}()
		return &memory, got
	}
	ctx, pass := await.Deadline(t.Context())
	memory, got := begin(ctx)
	await.Receive(t, "the call at the backend", seen)
	pass()
	if err := <-got; err == nil || mcp.AsError(err).Kind != mcp.KindOverloaded {
		t.Errorf("a call without room: %v", err)
	}
	if n := memory.Held(budget.Results); n != 0 || b.Refused(budget.Results) != 1 {
		t.Errorf("%d bytes are held; %d refusals", n, b.Refused(budget.Results))
	}
	memory, got = begin(t.Context())
	hog.Release()
	if err := <-got; err != nil {
		t.Errorf("a call that waited: %v", err)
	}
	memory.Release()
	if used, holders := b.Used(); used != 0 || holders != 0 {
		t.Errorf("%d bytes of %d holders are left", used, holders)
	}
}

// A caller whose results exceed the budget, because they could not be refused, does not prevent
// other callers' calls.
func TestResultsOfOneLeaveRoomForOthers(t *testing.T) {
	d := largeTool(t)
	b := budget.New(64 << 20)
	hog := b.Named("hog").Begin()
	hog.Force(budget.Results, 5*b.Limit())
	for range 10 {
		memory, err := b.Named("another").Reserve(budget.Requests, 32<<10)
		if err != nil {
			t.Fatal(err)
		}
		call := request(t, mcp.MethodToolsCall, `{"name":"large","arguments":{"a":"`+strings.Repeat("x", 64<<10)+`"}}`)
		call.Memory = &memory
		ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
		reply, err := d.Call(ctx, rules(t, modern), call, nil)
		cancel()
		if err != nil {
			t.Fatalf("another's call: %v", err)
		}
		if n := memory.Held(budget.Results); n != whileSent*int64(len(reply.Result)) || n < large {
			t.Errorf("%d bytes are held for a result of %d", n, len(reply.Result))
		}
		memory.Release()
	}
	hog.Release()
	if used, holders := b.Used(); used != 0 || holders != 0 {
		t.Errorf("%d bytes of %d holders are left", used, holders)
	}
}

// The first result of a tool is received without room in the budget, one at a time; the next one
// waits.
func TestFirstResultIsReceivedWithoutRoom(t *testing.T) {
	d, seen := largeToolSeen(t)
	b := budget.New(40 << 20)
	hog, err := b.Named("hog").Reserve(budget.Logs, b.Limit()*9/10)
	if err != nil {
		t.Fatal(err)
	}
	defer hog.Release()
	measure(t, d, b)
	<-seen
	second := b.Named("caller").Begin()
	defer second.Release()
	call := request(t, mcp.MethodToolsCall, `{"name":"large"}`)
	call.Memory = &second
	if err := second.Grow(budget.Requests, 3<<20); err != nil { // of the last tenth
		t.Fatal(err)
	}
	ctx, pass := await.Deadline(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := d.Call(ctx, rules(t, modern), call, nil)
		got <- err
	}()
	await.Receive(t, "the call at the backend", seen)
	pass()
	if err := <-got; err == nil || mcp.AsError(err).Kind != mcp.KindOverloaded {
		t.Errorf("a second call without room: %v", err)
	}
}

// Only the first completion is expected to be large, if completions have no suggestion or the
// backend does not implement them.
func TestEmptyCompletionsAreMeasured(t *testing.T) {
	for name, refusal := range map[string]error{"empty": nil, "none": status.Error(codes.Unimplemented, "none")} {
		b := budget.New(1 << 30)
		var held []int64
		f := &fake{name: "a", prompts: []*pb.Prompt{{Name: "p"}}}
		f.onComplete = func(string, string, string) ([]string, error) {
			held = append(held, b.UsedFor(budget.Results))
			return nil, refusal
		}
		d := start(t, Options{}, f)
		for range 2 {
			memory := b.Named("caller").Begin()
			call := request(t, mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":""}}`)
			call.Memory = &memory
			if _, err := d.Call(t.Context(), rules(t, modern), call, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			memory.Release()
		}
		if len(held) != 2 || held[0] == 0 || held[1] != 0 {
			t.Errorf("%s: %d bytes are held while the backend is asked", name, held)
		}
	}
}

// A result that is known to be small is received although the budget is exhausted. A call that
// waits for a backend holds no memory.
func TestSmallResultsNeedNoRoom(t *testing.T) {
	f := &fake{name: "a", tools: []*pb.Tool{{Name: "small", InputSchemaJson: `{"type":"object"}`}}}
	f.onCall = stream(nil, toolText("little"))
	d := start(t, Options{}, f)
	b := budget.New(40 << 20)
	call := func() error {
		memory := b.Named("caller").Begin()
		defer memory.Release()
		call := request(t, mcp.MethodToolsCall, `{"name":"small"}`)
		call.Memory = &memory
		ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
		defer cancel()
		_, err := d.Call(ctx, rules(t, modern), call, nil)
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	hog := b.Named("hog").Begin()
	hog.Force(budget.Logs, b.Limit())
	full, err := b.Named("newcomer").Reserve(budget.Logs, b.Limit()/10)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	full.Release()
	hog.Release()
	if used, holders := b.Used(); used != 0 || holders != 0 {
		t.Errorf("%d bytes of %d holders are left", used, holders)
	}
}

// Arguments are validated only if the budget has room to decode them.
func TestCheckWithoutRoom(t *testing.T) {
	d := largeTool(t)
	b := budget.New(64 << 10)
	memory := b.Named("caller").Begin()
	call := request(t, mcp.MethodToolsCall, `{"name":"large","arguments":{"a":"`+strings.Repeat("x", 64<<10)+`"}}`)
	call.Memory = &memory
	_, err := d.Call(t.Context(), rules(t, modern), call, nil)
	if err == nil || mcp.AsError(err).Kind != mcp.KindOverloaded || b.Refused(budget.Checks) != 1 {
		t.Errorf("%v; %d refusals", err, b.Refused(budget.Checks))
	}
	if used, _ := b.Used(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}

// Measured sizes are dropped with their backend or their tool.
func TestSizesEndWithTheirBackend(t *testing.T) {
	f := &fake{name: "a", tools: []*pb.Tool{{Name: "large", InputSchemaJson: `{"type":"object"}`}, {Name: "kept", InputSchemaJson: `{"type":"object"}`}}}
	f.onCall = stream(nil, toolText("x"))
	d, pool := startPool(t, Options{})
	target := f.serve(t)
	if err := pool.Discover([]backend.Config{{Name: "a", Target: target}}, time.Second); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"large", "kept"} {
		await.Until(t, "the tool is called", func() bool {
			memory := budget.New(1 << 30).Named("caller").Begin()
			defer memory.Release()
			call := request(t, mcp.MethodToolsCall, `{"name":"`+name+`"}`)
			call.Memory = &memory
			_, err := d.Call(t.Context(), rules(t, modern), call, nil)
			return err == nil
		})
	}
	kept := func() (backends, tools int) {
		for _, own := range d.sizes.byBackend.Range {
			backends++
			for range own.(*ownSizes).m.Range {
				tools++
			}
		}
		return backends, tools
	}
	if backends, tools := kept(); backends != 1 || tools != 2 {
		t.Fatalf("%d backends and %d tools are kept, want 1 and 2", backends, tools)
	}
	f.change(func() { f.tools = f.tools[1:] })
	await.Until(t, "the tool's size is forgotten", func() bool { _, tools := kept(); return tools == 1 })
	if err := pool.Discover(nil, time.Second); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the backend's sizes are forgotten", func() bool { backends, _ := kept(); return backends == 0 })
}
