package access

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
)

var tool = policy.Target{Kind: policy.Tool, Method: mcp.MethodToolsCall, Name: "t"}

func none() (map[string]any, error) { return nil, nil }

func governed(t *testing.T, o Options, s policy.Settings) *Control {
	t.Helper()
	p, err := policy.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	o.Policy = p
	return New(o)
}

// If no caller can get a token, a request that lacks scopes is denied and not challenged.
func TestLackingWithoutAuthentication(t *testing.T) {
	c := governed(t, Options{}, policy.Settings{Scopes: []policy.Scopes{{Need: []string{"w"}}}})
	_, err := c.InForce().Decide(t.Context(), revision.Stateless(), &mcp.Call{Attempt: 1}, &tool, none)
	if e := mcp.AsError(err); e.Kind != mcp.KindForbidden || e.Challenge != nil || !strings.Contains(e.Message, "callers are not authenticated here") {
		t.Errorf("%+v", e)
	}
}

// A round that is retried after the loss of its replica is decided again: the lost replica may not
// have decided it.
func TestRunAgain(t *testing.T) {
	c := governed(t, Options{}, policy.Settings{Default: policy.Deny})
	legacy, _ := revision.ByVersion("2025-11-25")
	for _, x := range []struct {
		rules   *revision.Rules
		attempt int
	}{{legacy, 1}, {legacy, 2}, {revision.Stateless(), 1}} {
		if _, err := c.InForce().Decide(t.Context(), x.rules, &mcp.Call{Attempt: x.attempt}, &tool, none); err == nil {
			t.Errorf("%s, attempt %d is not denied", x.rules.Version, x.attempt)
		}
	}
}

// The error of a rule's evaluation is logged once for each rule.
func TestFailuresAreLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	c := governed(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, policy.Settings{
		Default: policy.Allow,
		Rules:   []policy.Rule{{Name: "a", When: `tool.name == "a" && principal.claims.x == 1`, Then: policy.Allow}, {Name: "b", When: `principal.claims.x == 1`, Then: policy.Allow}},
	})
	for range 3 {
		for _, name := range []string{"a", "b"} {
			target := tool
			target.Name = name
			if _, err := c.InForce().Decide(t.Context(), revision.Stateless(), &mcp.Call{}, &target, none); mcp.AsError(err).Kind != mcp.KindForbidden {
				t.Error(err)
			}
		}
	}
	if got := log.String(); strings.Count(got, "could not be evaluated") != 2 || !strings.Contains(got, "rule=a") || !strings.Contains(got, "rule=b") {
		t.Error(got)
	}
}

// A policy can be set and removed while calls are decided.
func TestSetPolicy(t *testing.T) {
	c := New(Options{})
	ask := func() error {
		_, err := c.InForce().Decide(t.Context(), revision.Stateless(), &mcp.Call{}, &tool, none)
		return err
	}
	if _, listed := c.InForce().Lists(&mcp.Principal{}); ask() != nil || listed != nil || !c.InForce().May(&mcp.Principal{}, &tool) {
		t.Error("without a policy something is not allowed")
	}
	p, err := policy.Compile(policy.Settings{Default: policy.Hide})
	if err != nil {
		t.Fatal(err)
	}
	c.SetPolicy(p, nil)
	if _, listed := c.InForce().Lists(&mcp.Principal{}); !errors.Is(ask(), policy.ErrHidden) || listed == nil || listed(&tool) || c.InForce().May(&mcp.Principal{}, &tool) {
		t.Error("a policy that hides everything does not")
	}
	c.SetPolicy(nil, nil)
	if ask() != nil || c.Policy() != nil {
		t.Error("a policy stays in force")
	}
}

// undecided returns the Permit of a request that no rule decides.
func undecided(by *Decider) *Permit {
	p, _ := by.Decide(context.Background(), revision.Stateless(), nil, nil, nil)
	return &p
}

// If another policy server is put in force, and the previous one is closed before a request was sent
// to it, the request is decided again by the new one.
func TestSetPolicyServer(t *testing.T) {
	before, after := authorizer.Serve(t), authorizer.Serve(t)
	after.SetDecide(authorizer.Deny("the later one"))
	server := func(s *authorizer.Server) *external.Client {
		c, err := external.New(external.Options{Target: s.Addr, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	asked, later := server(before), server(after)
	c := governed(t, Options{External: asked}, policy.Settings{
		Default: policy.Deny, Rules: []policy.Rule{{Name: "r", When: `has(arguments.x)`, Then: policy.Allow}},
	})
	previous := c.InForce()
	permit, err := previous.Decide(t.Context(), revision.Stateless(), &mcp.Call{}, &tool, func() (map[string]any, error) {
		c.SetPolicy(c.Policy(), later)
		asked.Close()
		return map[string]any{"x": 1}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err = permit.Ask(t.Context(), &mcp.Call{}); !errors.Is(err, policy.ErrReplaced) {
		t.Error(err)
	}
	err = undecided(c.InForce()).Ask(t.Context(), &mcp.Call{})
	if mcp.AsError(err).Kind != mcp.KindForbidden || !strings.Contains(err.Error(), "the later one") || len(before.Asked()) > 0 {
		t.Error(err)
	}
	c.Asked(func(o external.Outcome, n int64) {
		if want := map[external.Outcome]int64{external.Denied: 1}[o]; n != want {
			t.Errorf("%s %d times, want %d", o, n, want)
		}
	})
	later.Close()
	if err := undecided(c.InForce()).Ask(t.Context(), &mcp.Call{}); mcp.AsError(err).Kind != mcp.KindUnavailable {
		t.Errorf("a server that is closed allows, or says %v", err)
	}
}

// Replacing the policy server fails no request that waits for its decision. If the previous server
// is closed before it receives the request, another Decider is in force, and decides the request.
func TestPolicyServersAreExchangedWhileTheyAreAsked(t *testing.T) {
	s := authorizer.Serve(t)
	s.SetDecide(authorizer.Allow)
	server := func() *external.Client {
		c, err := external.New(external.Options{Target: s.Addr, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	before := server()
	c := governed(t, Options{External: before}, policy.Settings{})
	var asking sync.WaitGroup
	over := make(chan struct{})
	for range 4 {
		asking.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				decider := c.InForce()
				err := undecided(decider).Ask(t.Context(), &mcp.Call{})
				switch {
				case errors.Is(err, policy.ErrReplaced) && c.InForce() != decider: // the caller decides it anew
				case err != nil:
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		after := server()
		c.SetPolicy(c.Policy(), after)
		before.Close()
		before = after
	}
	close(over)
	asking.Wait()
}
