package external_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// client asks a server, with a timeout that is not met where the test does not mean it.
func client(t *testing.T, s *authorizer.Server, open bool) *external.Client {
	t.Helper()
	c, err := external.New(external.Options{Target: s.Addr, Timeout: time.Minute, Open: open})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var call = &mcp.Call{Method: mcp.MethodToolsCall}

// An answer allows only if it says so; what is none has failed, and Open alone allows then.
func TestAnswers(t *testing.T) {
	failed := &authv3.CheckResponse_ErrorResponse{ErrorResponse: &authv3.DeniedHttpResponse{Body: "out of order"}}
	denied := &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{Body: "no"}}
	for name, x := range map[string]struct {
		resp *authv3.CheckResponse
		err  error
		want external.Outcome
	}{
		"status OK":              {&authv3.CheckResponse{Status: &status.Status{}}, nil, external.Allowed},
		"an OK response":         {&authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{}}}, nil, external.Allowed},
		"another status":         {&authv3.CheckResponse{Status: &status.Status{Code: int32(codes.Unauthenticated)}}, nil, external.Denied},
		"no status known":        {&authv3.CheckResponse{Status: &status.Status{Code: -1}}, nil, external.Denied},
		"OK and a denial":        {&authv3.CheckResponse{Status: &status.Status{}, HttpResponse: denied}, nil, external.Denied},
		"a denial alone":         {&authv3.CheckResponse{HttpResponse: denied}, nil, external.Denied},
		"an error response":      {&authv3.CheckResponse{HttpResponse: failed}, nil, external.Failed},
		"OK and an error":        {&authv3.CheckResponse{Status: &status.Status{}, HttpResponse: failed}, nil, external.Failed},
		"a denial and an error":  {&authv3.CheckResponse{Status: &status.Status{Code: int32(codes.Internal)}, HttpResponse: failed}, nil, external.Failed},
		"nothing":                {&authv3.CheckResponse{}, nil, external.Failed},
		"an error":               {nil, grpcstatus.Error(codes.PermissionDenied, "you may not ask"), external.Failed},
		"more than can be taken": {&authv3.CheckResponse{Status: &status.Status{Message: strings.Repeat("x", 1<<20)}}, nil, external.Failed},
	} {
		for _, open := range []bool{false, true} {
			s := authorizer.Serve(t)
			s.SetDecide(func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) { return x.resp, x.err })
			a, err := client(t, s, open).Ask(t.Context(), call)
			if allow := x.want == external.Allowed || x.want == external.Failed && open; err != nil || a.Outcome != x.want || a.Allow != allow {
				t.Errorf("%s, open %v: %+v, %v; want %s", name, open, a, err, x.want)
			}
		}
	}
}

// The first failure is logged with what happens to requests meanwhile, and so is the first answer after it.
func TestFailuresAreLogged(t *testing.T) {
	s := authorizer.Serve(t)
	var down atomic.Bool
	s.SetDecide(func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		if down.Load() {
			return nil, grpcstatus.Error(codes.Unavailable, "down")
		}
		return &authv3.CheckResponse{Status: &status.Status{}}, nil
	})
	for open, follows := range map[bool]string{true: "allowed", false: "denied"} {
		var out bytes.Buffer
		c, err := external.New(external.Options{Target: s.Addr, Timeout: time.Minute, Open: open, Logger: slog.New(slog.NewTextHandler(&out, nil))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		for _, fails := range []bool{false, true, true, false, false} {
			down.Store(fails)
			if _, err := c.Ask(t.Context(), call); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range []string{"that it would authorize are " + follows, "is available again"} {
			if n := strings.Count(out.String(), line); n != 1 {
				t.Errorf("open %v: %q is logged %d times:\n%s", open, line, n, &out)
			}
		}
	}
}

// A client that is closed asks nothing more, and hears what it had asked.
func TestClose(t *testing.T) {
	s := authorizer.Serve(t)
	begun, decide := make(chan struct{}), make(chan struct{})
	s.SetDecide(func(ctx context.Context, req *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		close(begun)
		<-decide
		return authorizer.Allow(ctx, req)
	})
	c := client(t, s, true)
	answers := make(chan external.Answer, 1)
	go func() {
		a, err := c.Ask(t.Context(), call)
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}()
	await.Receive(t, "the question", begun)
	c.Close()
	if a, err := c.Ask(t.Context(), call); !errors.Is(err, external.ErrClosed) || a.Allow {
		t.Errorf("asked after it was closed: %+v, %v", a, err)
	}
	close(decide)
	if a := await.Receive(t, "the answer", answers); a.Outcome != external.Allowed {
		t.Errorf("the question that was open: %+v", a)
	}
}
