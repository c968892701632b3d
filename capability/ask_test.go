package capability_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

type name struct {
	First string `json:"first" minLength:"2"`
	Last  string `json:"last,omitempty"`
}

type age struct {
	Years int `json:"years" minimum:"0" maximum:"150"`
}

// said returns the text of a tool's result.
func said(o *capabilitytest.Outcome[mcpedgev1.CallToolResult]) string {
	if len(o.Result.GetContent()) == 0 {
		return fmt.Sprint("no text: ", o.Failure, o.InputRequired)
	}
	return o.Result.GetContent()[0].GetText().GetText()
}

// answering returns an answer function that answers by key and records the questions.
func answering(asked *[]string, by map[string]*capability.InputResponse) func(*capability.InputRequest) *capability.InputResponse {
	return func(r *capability.InputRequest) *capability.InputResponse {
		*asked = append(*asked, r.GetKey())
		return by[r.GetKey()]
	}
}

func TestAskOverRounds(t *testing.T) {
	s := capability.New("ask", "1")
	var effects, deferred int
	addTool(s, "interview", func(_ context.Context, c *capability.Call) (string, error) {
		defer func() { deferred++ }()
		defer func() { _ = recover() }() // recovers nothing: a question is not a panic
		n, err := capability.Ask[name](c, "name", "Who are you?")
		if err != nil {
			return "", err
		}
		a, err := capability.Ask[age](c, "age", "How old, "+n.First+"?")
		if err != nil {
			return "", err
		}
		model := c.Sample("poem", &capability.SamplingRequest{MaxTokens: 10,
			Messages: []*capability.SamplingMessage{capability.SamplingText(capability.User, "a poem")}})
		roots := c.Roots("roots")
		login := c.AskURL("login", "Log in", "https://example.com/login")
		effects++
		return fmt.Sprint(n.First, a.Years, model.GetContent()[0].GetText().GetText(), roots[0].GetUri(), login.Action), nil
	})
	c := capabilitytest.Start(t, s)
	var asked []string
	c.Answer = answering(&asked, map[string]*capability.InputResponse{
		"name": capabilitytest.Accepted(`{"first":"Ada"}`), "age": capabilitytest.Accepted(`{"years":36}`),
		"poem": capabilitytest.Sampled("roses"), "roots": capabilitytest.Roots(&capability.Root{Uri: "file:///w"}),
		"login": capabilitytest.Accepted("")})
	out, err := c.CallTool(limit(t), "interview", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(out), fmt.Sprint("Ada", 36, "roses", "file:///w", capability.Accept); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"name", "age", "poem", "roots", "login"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if out.Rounds != 6 || effects != 1 || deferred != 6 {
		t.Errorf("%d rounds, %d effects, %d deferred calls", out.Rounds, effects, deferred)
	}
}

func TestAskSendsTheForm(t *testing.T) {
	s := capability.New("ask", "1")
	addTool(s, "form", func(_ context.Context, c *capability.Call) (string, error) {
		_, err := capability.Ask[name](c, "name", "Who?")
		return "", err
	})
	c := capabilitytest.Start(t, s)
	out, err := c.CallTool(limit(t), "form", nil)
	if err != nil || len(out.InputRequired.GetRequests()) != 1 {
		t.Fatalf("%v, %v", out, err)
	}
	form := out.InputRequired.GetRequests()[0].GetElicitForm()
	want := `{"type":"object","properties":{"first":{"type":"string","minLength":2},"last":{"type":"string"}},"required":["first"]}`
	if form.GetMessage() != "Who?" || form.GetRequestedSchemaJson() != want {
		t.Errorf("form %v", form)
	}
}

func TestAskAllAsksInOneRound(t *testing.T) {
	s := capability.New("ask", "1")
	addTool(s, "both", func(_ context.Context, c *capability.Call) (string, error) {
		n, roots := capability.Form[name]("name", "Who?"), capability.ListRoots("roots")
		raw := capability.RawQuestion("raw", json.RawMessage(`{"method":"x/y","params":{}}`))
		c.AskAll(n, roots, raw)
		who, err := n.Answer(c)
		if err != nil {
			return "", err
		}
		where, _ := roots.Answer(c)
		what, _ := raw.Answer(c)
		return fmt.Sprint(who.First, len(where), string(what)), nil
	})
	c := capabilitytest.Start(t, s)
	var asked []string
	c.Answer = answering(&asked, map[string]*capability.InputResponse{
		"name": capabilitytest.Accepted(`{"first":"Ada"}`), "roots": capabilitytest.Roots(),
		"raw": {Response: &mcpedgev1.InputResponse_RawJson{RawJson: `{"z":1}`}}})
	out, err := c.CallTool(limit(t), "both", nil)
	if err != nil || said(out) != fmt.Sprint("Ada", 0, `{"z":1}`) || out.Rounds != 2 || len(asked) != 3 {
		t.Errorf("%s after %d rounds, asked %v, %v", said(out), out.Rounds, asked, err)
	}
	// One of three answers arrives, and later another value for it: the first value stays.
	asked = nil
	first := true
	c.Answer = func(r *capability.InputRequest) *capability.InputResponse {
		asked = append(asked, r.GetKey())
		switch {
		case r.GetKey() == "name" && first:
			first = false
			return capabilitytest.Accepted(`{"first":"Ada"}`)
		case len(asked) <= 3:
			return nil
		case r.GetKey() == "roots":
			return capabilitytest.Roots(&capability.Root{Uri: "file:///w"})
		}
		return &capability.InputResponse{Response: &mcpedgev1.InputResponse_RawJson{RawJson: `2`}}
	}
	out, err = c.CallTool(limit(t), "both", nil)
	if err != nil || said(out) != fmt.Sprint("Ada", 1, "2") || strings.Join(asked, " ") != "name roots raw roots raw" {
		t.Errorf("%s, asked %v, %v", said(out), asked, err)
	}
}

func TestFormDefaults(t *testing.T) {
	s := capability.New("ask", "1")
	addTool(s, "size", func(_ context.Context, c *capability.Call) (string, error) {
		v, err := capability.Ask[struct {
			Size string   `json:"size" enum:"s,m" default:"m"`
			Tags []string `json:"tags,omitempty" enum:"x,y"`
		}](c, "size", "Which?")
		return fmt.Sprint(v.Size, v.Tags), err
	})
	c := capabilitytest.Start(t, s)
	answers := []string{`{"tags":["z"]}`, `{"tags":["x","y"]}`}
	c.Answer = func(*capability.InputRequest) *capability.InputResponse {
		a := answers[0]
		answers = answers[1:]
		return capabilitytest.Accepted(a)
	}
	if out, err := c.CallTool(limit(t), "size", nil); err != nil || said(out) != "m[x y]" {
		t.Errorf("%s, %v", said(out), err)
	}
}

func TestDeclineAndCancel(t *testing.T) {
	s := capability.New("ask", "1")
	addTool(s, "ask", func(_ context.Context, c *capability.Call) (string, error) {
		_, err := capability.Ask[name](c, "name", "Who?")
		form := c.AskForm("form", "Sure?", `{"type":"object","properties":{}}`)
		if (err != nil) != errors.Is(err, capability.ErrUnanswered) {
			t.Errorf("%v is not ErrUnanswered", err)
		}
		return fmt.Sprint(errors.Is(err, capability.ErrDeclined), errors.Is(err, capability.ErrDismissed), form.Action, form.Err()), nil
	})
	c := capabilitytest.Start(t, s)
	for _, tc := range []struct {
		answer *capability.InputResponse
		want   string
	}{
		{capabilitytest.Declined(), fmt.Sprint(true, false, capability.Decline, capability.ErrDeclined)},
		{capabilitytest.Dismissed(), fmt.Sprint(false, true, capability.Cancel, capability.ErrDismissed)},
	} {
		c.Answer = func(*capability.InputRequest) *capability.InputResponse { return tc.answer }
		out, err := c.CallTool(limit(t), "ask", nil)
		if err != nil || said(out) != tc.want {
			t.Errorf("got %s, %v, want %s", said(out), err, tc.want)
		}
	}
}

func TestMisfitIsAskedAgain(t *testing.T) {
	s := capability.New("ask", "1")
	addTool(s, "age", func(_ context.Context, c *capability.Call) (string, error) {
		a, err := capability.Ask[age](c, "age", "How old?")
		return fmt.Sprint(a.Years), err
	})
	c := capabilitytest.Start(t, s)
	tries := []*capability.InputResponse{
		capabilitytest.Accepted(`{"years":"old"}`), capabilitytest.Accepted(`{}`), capabilitytest.Accepted(``),
		capabilitytest.Accepted(`{"years":151}`), capabilitytest.Accepted(`{"years":1.5}`), capabilitytest.Sampled("36"),
		{}, nil, capabilitytest.Accepted(`{"years":36}`)}
	n := 0
	c.Answer = func(*capability.InputRequest) *capability.InputResponse { n++; return tries[n-1] }
	out, err := c.CallTool(limit(t), "age", nil)
	if err != nil || said(out) != "36" || out.Rounds != len(tries)+1 {
		t.Errorf("%s after %d rounds, %v", said(out), out.Rounds, err)
	}
}

func TestStateAndRawMode(t *testing.T) {
	s := capability.New("raw", "1")
	addTool(s, "state", func(_ context.Context, c *capability.Call) (string, error) {
		c.SetState(append(bytes.Clone(c.State()), 'x'))
		capability.Ask[age](c, "one", "")
		capability.Ask[age](c, "two", "")
		return string(c.State()), nil
	})
	addTool(s, "poll", func(_ context.Context, c *capability.Call) (string, error) {
		if len(c.State()) < 3 {
			return "", &capability.InputRequired{State: append(bytes.Clone(c.State()), 'p'), RetryAfter: 2 * time.Second}
		}
		return string(c.State()), nil
	})
	addTool(s, "own", func(_ context.Context, c *capability.Call) (string, error) {
		if r := c.Response("k"); r != nil {
			return r.GetElicit().GetContentJson(), nil
		}
		return "", fmt.Errorf("wrapped: %w", &capability.InputRequired{Requests: []*capability.InputRequest{{Key: "k",
			Request: &mcpedgev1.InputRequest_ElicitUrl{ElicitUrl: &mcpedgev1.ElicitUrl{Url: "https://x"}}}}})
	})
	c := capabilitytest.Start(t, s)
	out, err := c.CallTool(limit(t), "poll", nil)
	if err != nil || out.InputRequired.GetRetryAfter().AsDuration() != 2*time.Second || len(out.InputRequired.GetRequests()) != 0 {
		t.Errorf("%v, %v", out.InputRequired, err)
	}
	c.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Accepted(`{"years":1}`)
	}
	for tool, want := range map[string]string{"state": "xxx", "poll": "ppp", "own": `{"years":1}`} {
		if out, err := c.CallTool(limit(t), tool, nil); err != nil || said(out) != want {
			t.Errorf("%s: %s, %v", tool, said(out), err)
		}
	}
}

func TestAskingBeyondItsBounds(t *testing.T) {
	s := capability.New("bounds", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	addTool(s, "many", func(_ context.Context, c *capability.Call) (string, error) {
		var all []capability.Asking
		for i := range 17 {
			all = append(all, capability.ListRoots(fmt.Sprint(i)))
		}
		c.AskAll(all...)
		return "", nil
	})
	addTool(s, "key", func(_ context.Context, c *capability.Call) (string, error) { c.Roots(""); return "", nil })
	addTool(s, "big", func(_ context.Context, c *capability.Call) (string, error) {
		c.SetState(make([]byte, 64<<10))
		c.Roots("r")
		return "", nil
	})
	addTool(s, "twice", func(context.Context, *capability.Call) (string, error) {
		return "", &capability.InputRequired{Requests: []*capability.InputRequest{{Key: "k"}, {Key: "k"}}}
	})
	addTool(s, "form", func(_ context.Context, c *capability.Call) (string, error) {
		c.AskForm("k", "", "nonsense")
		return "", nil
	})
	c := capabilitytest.Start(t, s)
	for tool, says := range map[string]string{"many": "17 questions", "key": "1 to 128", "big": "65", "twice": `"k"`, "form": "fault"} {
		out, err := c.CallTool(limit(t), tool, nil)
		if err != nil || out.Failure.GetReason() != capability.Internal || !strings.Contains(out.Failure.GetMessage(), says) {
			t.Errorf("%s: %v, %v", tool, out, err)
		}
	}
	stream, err := c.Tools.CallTool(limit(t), &mcpedgev1.CallToolRequest{Name: "key", State: []byte("foreign")})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err != nil || m.GetFailure().GetReason() != capability.InvalidArgument {
		t.Errorf("a foreign state: %v, %v", m, err)
	}
}

func TestAskingInAnotherGoroutineEndsTheRound(t *testing.T) {
	s := capability.New("go", "1")
	addTool(s, "go", func(_ context.Context, c *capability.Call) (string, error) {
		var wg sync.WaitGroup
		roots := make([]int, 2)
		for i := range roots {
			wg.Go(func() { roots[i] = len(c.Roots(fmt.Sprint(i))) })
		}
		wg.Wait()
		return fmt.Sprint(roots), nil
	})
	c := capabilitytest.Start(t, s)
	c.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Roots(&capability.Root{Uri: "file:///w"})
	}
	if out, err := c.CallTool(limit(t), "go", nil); err != nil || said(out) != "[1 1]" {
		t.Errorf("%s, %v", said(out), err)
	}
}
