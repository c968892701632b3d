package server

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

const patience = await.Patience

func TestMain(m *testing.M) { goleak.VerifyTestMain(await.Leaks(m)) }

func start(t *testing.T, o Options) *capabilitytest.Client {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.debounce = 5 * time.Millisecond
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	stop, err := s.Watch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return capabilitytest.Start(t, s.Server)
}

func timed(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func names(t *testing.T, c *capabilitytest.Client) string {
	t.Helper()
	list, err := c.Prompts.ListPrompts(timed(t), &mcpedgev1.ListPromptsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range list.GetPrompts() {
		if p.GetDescription() == "" {
			t.Errorf("%s has no description", p.GetName())
		}
		all = append(all, p.GetName())
	}
	return strings.Join(all, " ")
}

// get returns the text of a prompt, or the failure's message.
func get(t *testing.T, c *capabilitytest.Client, name string, arguments map[string]string) string {
	t.Helper()
	out, err := c.GetPrompt(timed(t), name, arguments)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if out.Failure != nil {
		return out.Failure.GetReason().String() + ": " + out.Failure.GetMessage()
	}
	m := out.Result.GetMessages()
	if len(m) != 1 || m[0].GetRole() != capability.User {
		t.Fatalf("%s: %v", name, m)
	}
	return m[0].GetContent().GetText().GetText()
}

func TestBundledPrompts(t *testing.T) {
	c := start(t, Options{})
	if got, want := names(t, c), "plan-vacation code_review explain-error summarize"; got != want {
		t.Errorf("prompts %q, want %q", got, want)
	}
	for _, test := range []struct {
		name      string
		arguments map[string]string
		want      string
	}{
		{"plan-vacation", map[string]string{"destination": "Rome"}, "a vacation of 7 days in Rome.\n"},
		{"plan-vacation", map[string]string{"destination": "Rome", "days": "3", "interests": "food"}, "of 3 days in Rome.\nThe travellers like: food.\n"},
		{"plan-vacation", map[string]string{"destination": "Rome", "days": "many"}, `INVALID_ARGUMENT: days: "many" is not`},
		{"plan-vacation", map[string]string{"destination": "Rome", "days": "61"}, `days: "61" is not a whole number from 1 to 60`},
		{"plan-vacation", map[string]string{"destination": " "}, "the argument destination is empty"},
		{"plan-vacation", nil, "INVALID_ARGUMENT"},
		{"code_review", map[string]string{"code": "a := 1\n", "language": "Go", "focus": "naming"}, "Look at naming above all.\n\n```go\na := 1\n```\n"},
		{"code_review", map[string]string{"code": "```x```"}, "\n````\n```x```\n````\n"},
		{"code_review", map[string]string{"code": ""}, "the argument code is empty"},
		{"summarize", map[string]string{"text": "Long.", "reader": "a child"}, "is: a child\n\n---\n\nLong."},
		{"explain-error", map[string]string{"message": "exit 1"}, "```\nexit 1\n```"},
	} {
		if got := get(t, c, test.name, test.arguments); !strings.Contains(got, test.want) {
			t.Errorf("%s %v: %q, want %q", test.name, test.arguments, got, test.want)
		}
	}
}

func TestCompletion(t *testing.T) {
	c := start(t, Options{})
	for _, test := range []struct{ name, argument, value, want string }{
		{"plan-vacation", "destination", "Bar", "Barcelona"},
		{"plan-vacation", "days", "1", "10|14"},
		{"plan-vacation", "interests", "mus", "museums|music"},
		{"plan-vacation", "interests", "food, Mus", "food, museums|food, music"},
		{"plan-vacation", "interests", "museums,mus", "museums, music"},
		{"code_review", "language", "ja", "Java|JavaScript"},
		{"code_review", "code", "x", ""},
		{"summarize", "reader", "a c", "a colleague|a customer|a child"},
	} {
		got, err := c.Prompts.CompletePrompt(timed(t), &mcpedgev1.CompletePromptRequest{
			Name: test.name, ArgumentName: test.argument, ArgumentValue: test.value})
		if values := strings.Join(got.GetValues(), "|"); err != nil || values != test.want {
			t.Errorf("%s %s %q: %q, %v; want %q", test.name, test.argument, test.value, values, err, test.want)
		}
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// changes returns a channel with one value per change of the list.
func changes(t *testing.T, c *capabilitytest.Client) chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var stream grpc.ServerStreamingClient[mcpedgev1.WatchPromptsResponse]
	stream, err := c.Prompts.WatchPrompts(ctx, &mcpedgev1.WatchPromptsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err != nil || m.GetStarted() == nil {
		t.Fatalf("%v, %v", m, err)
	}
	events, done := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
			events <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return events
}

// put writes a file as a whole: the service has the text before or this one, and never an empty file.
func put(t *testing.T, dir, file, text string) {
	t.Helper()
	hidden := filepath.Join(dir, "."+file)
	if err := os.WriteFile(hidden, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hidden, filepath.Join(dir, file)); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "greet.md", "---\ndescription: Greets\narguments: [{name: who, required: true}]\n---\nHello {{who}}!")
	put(t, dir, "bad.md", "---\ntitle: [\n---\nx")
	put(t, dir, "notes.txt", "no prompt")
	var log lines
	c := start(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	events := changes(t, c)
	const base = "plan-vacation code_review"
	await := func(what string, holds func() bool) {
		t.Helper()
		deadline := time.After(patience)
		for !holds() {
			select {
			case <-events:
			case <-time.After(10 * time.Millisecond):
			case <-deadline:
				t.Fatalf("%s: not there; prompts %q, log %s", what, names(t, c), &log)
			}
		}
	}
	reported := func(what string) {
		t.Helper()
		select {
		case <-events:
		case <-time.After(patience):
			t.Fatalf("%s: the list's change was not reported", what)
		}
	}
	if got := names(t, c); got != base+" greet" {
		t.Errorf("prompts %q", got)
	}
	if !strings.Contains(log.String(), "file=bad.md") || strings.Contains(log.String(), "notes.txt") {
		t.Errorf("log %s", &log)
	}
	if got := get(t, c, "greet", nil); !strings.HasPrefix(got, "FAILURE_REASON_INVALID_ARGUMENT") {
		t.Errorf("without its argument: %q", got)
	}

	put(t, dir, "greet.md", "---\ndescription: Greets\narguments: [{name: who, required: true}]\n---\nGood day {{who}}!")
	await("a new text", func() bool { return get(t, c, "greet", map[string]string{"who": "Ann"}) == "Good day Ann!" })
	select {
	case <-events:
		t.Error("a new text was reported as another list")
	default:
	}
	put(t, dir, "second.md", "# Second")
	reported("a new file")
	await("a new file", func() bool { return names(t, c) == base+" greet second" })
	put(t, dir, "bad.md", "Good now")
	await("a repaired file", func() bool { return names(t, c) == base+" greet second bad" })
	put(t, dir, "second.md", "{{undeclared}}")
	await("a broken file", func() bool { return names(t, c) == base+" greet bad" })
	if err := os.Remove(filepath.Join(dir, "greet.md")); err != nil {
		t.Fatal(err)
	}
	await("a removed file", func() bool { return names(t, c) == base+" bad" })
	if got := get(t, c, "bad", nil); got != "Good now" {
		t.Errorf("the repaired prompt: %q", got)
	}
}

func TestADirectoryThatCannotBeServed(t *testing.T) {
	if _, err := New(Options{Dir: filepath.Join(t.TempDir(), "missing")}); err == nil || !strings.Contains(err.Error(), "cannot be served") {
		t.Errorf("error %v", err)
	}
}
