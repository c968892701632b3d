package hook_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
)

const most = 1 << 20

func accept(*hookv1.RequestReplacement) error { return nil }

func newHook(t *testing.T, s *hookserver.Server, adjust ...func(*hook.Options)) *hook.Hook {
	t.Helper()
	o := hook.Options{Name: "h", Target: s.Addr, On: []hook.Point{hook.Request}, Timeout: 10 * time.Second}
	for _, f := range adjust {
		f(&o)
	}
	h, err := hook.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func ask(t *testing.T, h *hook.Hook) hook.Decision {
	t.Helper()
	d, err := h.CheckRequest(t.Context(), &hookv1.CheckRequestRequest{Call: &hookv1.Call{}}, most, accept)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func broken(context.Context, *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
	return nil, status.Error(codes.Unavailable, "broken")
}

// TestAnsweredIsNotBroken: failures that a client may provoke do not open the breaker for others,
// and are not all logged: an error status, an unusable replacement, and a response that is too
// large.
func TestAnsweredIsNotBroken(t *testing.T) {
	for what, answer := range map[string]hookserver.Request{
		"status": func(context.Context, *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
			return nil, errors.New("cannot be parsed")
		},
		"no verdict": func(context.Context, *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
			return &hookv1.CheckRequestResponse{}, nil
		},
		"unusable":  hookserver.Arguments("{"),
		"too large": hookserver.Arguments(strings.Repeat("x", 1<<20)),
	} {
		s := hookserver.Serve(t)
		var out strings.Builder
		h := newHook(t, s, func(o *hook.Options) { o.Logger = slog.New(slog.NewTextHandler(&out, nil)) })
		for range 7 {
			for _, f := range []hookserver.Request{answer, answer, answer, answer, answer, answer, hookserver.Pass} {
				s.SetRequest(f)
				d, err := h.CheckRequest(t.Context(), &hookv1.CheckRequestRequest{}, most, func(*hookv1.RequestReplacement) error { return errors.New("no") })
				if err != nil || d.Outcome == hook.BreakerOpen {
					t.Fatalf("%s: %+v, %v", what, d, err)
				}
			}
		}
		if n := strings.Count(out.String(), "level=ERROR"); n != 1 {
			t.Errorf("%s was logged %d times", what, n)
		}
	}
}

// TestBreaker: five consecutive failures open the breaker, one RPC tries the server after the
// pause, and a response closes the breaker.
func TestBreaker(t *testing.T) {
	s := hookserver.Serve(t)
	h := newHook(t, s, func(o *hook.Options) { o.Pause = 20 * time.Millisecond })
	s.SetRequest(broken)
	for range 4 {
		ask(t, h)
	}
	s.SetRequest(hookserver.Pass)
	ask(t, h)
	s.SetRequest(broken)
	for range 5 {
		if d := ask(t, h); d.Outcome != hook.Failed || !d.Refuses() {
			t.Fatalf("a broken server gave %+v", d)
		}
	}
	if !h.IsOpen() {
		t.Fatal("five failures in a row did not open the breaker")
	}
	await.Until(t, "another question", func() bool { return ask(t, h).Outcome == hook.Failed })
	if !h.IsOpen() {
		t.Error("a failed trial closed the breaker")
	}
	s.SetRequest(hookserver.Pass)
	await.Until(t, "an answer", func() bool { return ask(t, h).Outcome == hook.Passed })
	if h.IsOpen() {
		t.Error("an answer did not close the breaker")
	}
}

// TestBusy: an RPC beyond the concurrency fails at once, and does not count as a failure of the
// server.
func TestBusy(t *testing.T) {
	s := hookserver.Serve(t)
	h := newHook(t, s, func(o *hook.Options) { o.Concurrency = 1 })
	asked, answer := make(chan struct{}), make(chan struct{})
	s.SetRequest(func(ctx context.Context, req *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
		close(asked)
		<-answer
		return hookserver.Pass(ctx, req)
	})
	ended := make(chan hook.Decision)
	go func() {
		d, _ := h.CheckRequest(context.Background(), &hookv1.CheckRequestRequest{}, most, accept)
		ended <- d
	}()
	<-asked
	for range 6 {
		if d := ask(t, h); d.Outcome != hook.Busy || !strings.Contains(d.Reason, "limit by hooks[].concurrency") {
			t.Fatalf("got %+v", d)
		}
	}
	close(answer)
	if d := <-ended; d.Outcome != hook.Passed || h.IsOpen() {
		t.Errorf("the first question gave %+v", d)
	}
}

// TestCancelled: an RPC whose caller leaves does not affect the breaker.
func TestCancelled(t *testing.T) {
	s := hookserver.Serve(t)
	h := newHook(t, s)
	for range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		s.SetRequest(func(ctx context.Context, _ *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		})
		_, err := h.CheckRequest(ctx, &hookv1.CheckRequestRequest{}, most, accept)
		if e := mcp.AsError(err); err == nil || e.Kind != mcp.KindCancelled {
			t.Fatalf("got %v", err)
		}
	}
	if h.IsOpen() {
		t.Error("callers that leave open the breaker")
	}
}

// open returns a hook whose breaker has opened, and whose pause is over.
func open(t *testing.T, s *hookserver.Server) *hook.Hook {
	t.Helper()
	h := newHook(t, s, func(o *hook.Options) { o.Pause = time.Millisecond })
	s.SetRequest(broken)
	await.Until(t, "an open breaker", func() bool { return ask(t, h).Outcome == hook.BreakerOpen || h.IsOpen() })
	return h
}

// TestTrialOfCallerThatLeaves: the RPC that tries the server continues if its caller leaves.
// Otherwise callers that leave in turns would keep the breaker open.
func TestTrialOfCallerThatLeaves(t *testing.T) {
	s := hookserver.Serve(t)
	h := open(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	s.SetRequest(func(asked context.Context, req *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
		cancel()
		return hookserver.Pass(asked, req)
	})
	await.Until(t, "the trial", func() bool {
		d, err := h.CheckRequest(ctx, &hookv1.CheckRequestRequest{}, most, accept)
		return err != nil || d.Outcome == hook.Passed
	})
	if h.IsOpen() {
		t.Error("the server has answered, and the breaker has not closed")
	}
}

// TestPanickingTrial: after a trial that panics, another RPC tries the server.
func TestPanickingTrial(t *testing.T) {
	s := hookserver.Serve(t)
	h := open(t, s)
	s.SetRequest(hookserver.Arguments("{}"))
	await.Until(t, "a panic", func() (panicked bool) {
		defer func() { panicked = recover() != nil }()
		_, _ = h.CheckRequest(t.Context(), &hookv1.CheckRequestRequest{}, most, func(*hookv1.RequestReplacement) error { panic("a mistake") })
		return false
	})
	s.SetRequest(hookserver.Pass)
	await.Until(t, "another trial", func() bool { return ask(t, h).Outcome == hook.Passed })
}

// TestClose: a closed hook still serves the chains that have acquired it, and no others.
func TestClose(t *testing.T) {
	s := hookserver.Serve(t)
	h := newHook(t, s)
	c := hook.NewChain([]*hook.Hook{h})
	if !c.Acquire() {
		t.Fatal("it is closed")
	}
	h.Close()
	if c.Acquire() {
		t.Error("it is not closed")
	}
	if d := ask(t, h); d.Outcome != hook.Passed {
		t.Errorf("after Close it gave %+v", d)
	}
	c.Release()
	if d := ask(t, h); d.Outcome != hook.Failed {
		t.Errorf("after Release it gave %+v", d)
	}
}

// TestMatches: a condition selects requests. One that cannot be evaluated selects all.
func TestMatches(t *testing.T) {
	s := hookserver.Serve(t)
	for text, want := range map[string]bool{
		`tool.name.startsWith("crm_")`: true, `tool.name == "x"`: false, `arguments.n > 3`: true, `arguments.n > 30`: false, `arguments.missing == 1`: true,
	} {
		when, err := policy.CompileTargetCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		h := newHook(t, s, func(o *hook.Options) { o.Match = when })
		got := h.Matches(&mcp.Principal{}, &policy.Target{Kind: policy.Tool, Name: "crm_find"}, func() (map[string]any, error) {
			return policy.DecodeObject([]byte(`{"n":5}`))
		})
		if got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// BenchmarkPass measures an RPC whose verdict is pass.
func BenchmarkPass(b *testing.B) {
	s := hookserver.Serve(b)
	h, err := hook.New(hook.Options{Name: "h", Target: s.Addr})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	req := &hookv1.CheckRequestRequest{Call: &hookv1.Call{ArgumentsJson: `{"text":"hello"}`}}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := h.CheckRequest(context.Background(), req, most, accept); err != nil || d.Outcome != hook.Passed {
			b.Fatal(d, err)
		}
	}
}
