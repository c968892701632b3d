package e2e

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// fixture is a backend whose calls wait for the test where time would matter.
type fixture struct {
	*capability.Server
	// started and ended get a value when the tool `gate` begins and when it ends, with how it ended.
	started chan string
	ended   chan error

	mu    sync.Mutex
	gates map[string]chan struct{}
	note  string
}

// gate is what the calls of the tool `gate` with this name wait for; close it to let them go on.
func (f *fixture) gate(name string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gates[name] == nil {
		f.gates[name] = make(chan struct{})
	}
	return f.gates[name]
}

// setNote changes the resource test://note and tells those who watch.
func (f *fixture) setNote(text string) {
	f.mu.Lock()
	f.note = text
	f.mu.Unlock()
	f.ResourceUpdated("test://note")
}

func newFixture(options ...capability.Option) *fixture {
	f := &fixture{
		Server: capability.New("fixture", "1.0.0", append(options,
			capability.WithInstructions("Use add for sums."),
			capability.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))...),
		started: make(chan string, 64), ended: make(chan error, 64),
		gates: map[string]chan struct{}{}, note: "first",
	}
	f.work()
	f.questions()
	f.failures()
	f.readables()
	return f
}

// startFixture runs a fixture and an edge before it, or with -redis replicas that share a Redis behind one address: they are
// held to what one promises, but in the tests that call harness.OneProcess.
func startFixture(t *testing.T, adjust ...func(*config.Config)) (*fixture, *harness.Edge) {
	t.Helper()
	if harness.InRedis() {
		f, edges, _ := startReplicas(t, replicaCount, adjust...)
		return f, harness.Balance(t, edges...)
	}
	f := newFixture()
	return f, startEdge(t, only(startService(t, f.Server)), adjust...)
}

type addIn struct {
	A int `json:"a" description:"First summand"`
	B int `json:"b" description:"Second summand" minimum:"0"`
}

type sum struct {
	Sum int `json:"sum"`
}

type gateIn struct {
	Name  string `json:"name"`
	Steps int    `json:"steps,omitempty"`
}

type regionIn struct {
	Region string `json:"region" header:"Region"`
	Limit  *int   `json:"limit,omitempty" header:"Limit"`
	Dry    *bool  `json:"dry,omitempty" header:"Dry"`
}

type sizeIn struct {
	Bytes int `json:"bytes"`
	Times int `json:"times,omitempty"`
}

func (f *fixture) work() {
	capability.AddTool(f.Server, "add", "Adds two numbers",
		func(_ context.Context, _ *capability.Call, in addIn) (sum, error) { return sum{in.A + in.B}, nil },
		capability.ReadOnly(), capability.Title("Add"))
	capability.AddTool(f.Server, "echo", "Says it again",
		func(_ context.Context, _ *capability.Call, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return in.Text, nil
		})
	capability.AddTool(f.Server, "count", "Counts, with progress and messages",
		func(_ context.Context, c *capability.Call, in struct {
			To int `json:"to"`
		}) (string, error) {
			for i := range in.To {
				c.Progress(float64(i+1), float64(in.To), fmt.Sprintf("%d of %d", i+1, in.To))
				c.Log(capability.LevelInfo, "counter", i+1)
			}
			return fmt.Sprintf("counted to %d", in.To), nil
		})
	capability.AddTool(f.Server, "gate", "Waits until the test opens the gate",
		func(ctx context.Context, c *capability.Call, in gateIn) (string, error) {
			c.Progress(1, 3, "waiting")
			f.started <- in.Name
			select {
			case <-f.gate(in.Name):
			case <-ctx.Done():
				f.ended <- ctx.Err()
				return "", ctx.Err()
			}
			c.Progress(2, 3, "through")
			f.ended <- nil
			return "passed " + in.Name, nil
		})
	capability.AddTool(f.Server, "region", "Mirrors its arguments in headers",
		func(_ context.Context, _ *capability.Call, in regionIn) (string, error) {
			return "in " + in.Region, nil
		})
	capability.AddTool(f.Server, "flood", "Sends many large messages",
		func(ctx context.Context, c *capability.Call, in sizeIn) (string, error) {
			text := strings.Repeat("x", in.Bytes)
			for i := range in.Times {
				if ctx.Err() != nil {
					break
				}
				c.Progress(float64(i+1), float64(in.Times), text)
			}
			f.ended <- ctx.Err()
			return "done", ctx.Err()
		})
	capability.AddTool(f.Server, "big", "Returns a large text",
		func(_ context.Context, c *capability.Call, in sizeIn) (string, error) {
			c.Progress(1, 1, "")
			if in.Times > 0 {
				<-f.gate("big")
			}
			return strings.Repeat("x", in.Bytes), nil
		})
	capability.AddTool(f.Server, "rich", "Returns every kind of content",
		func(context.Context, *capability.Call, struct{}) (*capability.Result, error) {
			return &capability.Result{Content: []*capability.Content{
				capability.Text("text"),
				capability.Image([]byte{1, 2, 3}, "image/png"),
				capability.Audio([]byte{4, 5, 6}, "audio/wav"),
				capability.Link(&capability.Resource{Uri: "test://note", Name: "note"}),
				capability.Embed(capability.TextContents("test://inside", "text/plain", "inside")),
			}, Structured: map[string]any{"n": 1}}, nil
		})
}

type person struct {
	Name string `json:"name" description:"What to call you"`
}

func (f *fixture) questions() {
	s := f.Server
	sample := func() *capability.SamplingRequest {
		return &capability.SamplingRequest{
			Messages:  []*capability.SamplingMessage{capability.SamplingText(capability.User, "Say a word.")},
			MaxTokens: 100,
		}
	}
	capability.AddTool(s, "ask_name", "Asks the user",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			p, err := capability.Ask[person](c, "name", "What is your name?")
			if err != nil {
				return "no name: " + err.Error(), nil
			}
			return "Hello, " + p.Name, nil
		})
	capability.AddTool(s, "ask_model", "Asks the client's model",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			r := c.Sample("word", sample())
			return "The model said " + r.GetContent()[0].GetText().GetText(), nil
		})
	capability.AddTool(s, "ask_roots", "Asks for the roots",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			var uris []string
			for _, r := range c.Roots("roots") {
				uris = append(uris, r.GetUri())
			}
			return "roots: " + strings.Join(uris, " "), nil
		})
	capability.AddTool(s, "ask_all", "Asks three things at once",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			name := capability.Form[person]("name", "What is your name?")
			word := capability.Sampling("word", sample())
			roots := capability.ListRoots("roots")
			c.AskAll(name, word, roots)
			p, err := name.Answer(c)
			if err != nil {
				return "", err
			}
			w, _ := word.Answer(c)
			r, _ := roots.Answer(c)
			return fmt.Sprintf("%s %s %d", p.Name, w.GetContent()[0].GetText().GetText(), len(r)), nil
		})
	capability.AddTool(s, "two_steps", "Asks twice",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			first, err := capability.Ask[person](c, "first", "First name?")
			if err != nil {
				return "", err
			}
			c.Progress(float64(c.Round()), 0, "")
			last, err := capability.Ask[person](c, "last", "Last name?")
			if err != nil {
				return "", err
			}
			return first.Name + " " + last.Name, nil
		})
	capability.AddTool(s, "count_rounds", "Counts anew in each round",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			c.Progress(1, 2, "before")
			p, err := capability.Ask[person](c, "name", "What is your name?")
			c.Progress(2, 2, "after")
			return "Hello, " + p.Name, err
		})
	capability.AddTool(s, "ask_url", "Sends the user to a page",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			r := c.AskURL("login", "Please log in.", "https://login.example/start")
			return "url: " + string(r.Action), nil
		})
	capability.AddPrompt(s, &capability.Prompt{Name: "ask_prompt", Description: "Asks before it answers"},
		func(_ context.Context, c *capability.Call, _ map[string]string) (string, error) {
			p, err := capability.Ask[person](c, "name", "What is your name?")
			return "I am " + p.Name, err
		})
	capability.AddResource(s, &capability.Resource{Uri: "test://asked", Name: "asked", MimeType: "text/plain"},
		func(_ context.Context, c *capability.Call, _ string) (string, error) {
			p, err := capability.Ask[person](c, "name", "What is your name?")
			return "for " + p.Name, err
		})
}

// failures adds a tool for each way to fail; its name is the way.
func (f *fixture) failures() {
	for name, err := range map[string]error{
		"fail_plain":        fmt.Errorf("it broke"),
		"fail_argument":     capability.Errorf(capability.InvalidArgument, "the city is unknown"),
		"fail_precondition": capability.Errorf(capability.FailedPrecondition, "not now"),
		"fail_denied":       capability.Errorf(capability.PermissionDenied, "not you"),
		"fail_exhausted":    capability.Errorf(capability.ResourceExhausted, "too much"),
		"fail_unavailable":  capability.Errorf(capability.Unavailable, "later"),
		"fail_internal":     capability.Errorf(capability.Internal, "a fault"),
	} {
		capability.AddTool(f.Server, name, "Fails",
			func(context.Context, *capability.Call, struct{}) (string, error) { return "", err })
	}
}

func (f *fixture) readables() {
	s := f.Server
	capability.AddResource(s, &capability.Resource{Uri: "test://note", Name: "note", MimeType: "text/plain"},
		func(context.Context, *capability.Call, string) (string, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.note, nil
		})
	capability.AddResource(s, &capability.Resource{Uri: "test://bytes", Name: "bytes", MimeType: "application/octet-stream"},
		func(context.Context, *capability.Call, string) ([]byte, error) { return []byte{0, 255}, nil })
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "test://item/{id}", Name: "item", MimeType: "text/plain"},
		func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
			return "item " + vars["id"], nil
		}, capability.Suggest("id", "apple", "apricot", "banana"))
	capability.AddPrompt(s, &capability.Prompt{
		Name: "greet", Description: "Greets someone",
		Arguments: []*capability.PromptArgument{{Name: "name", Required: true}},
	}, func(_ context.Context, _ *capability.Call, args map[string]string) (string, error) {
		return "Greet " + args["name"], nil
	}, capability.Suggest("name", "Ada", "Alan", "Grace"))
}
