package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/leaks"
)

// collector stores the spans that edges export.
type collector struct {
	mu       sync.Mutex
	exported bytes.Buffer
}

// collectSpans makes the edges of a test that start later export their spans to a collector.
func collectSpans(t *testing.T) *collector {
	t.Helper()
	c := new(collector)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.exported.Write(raw)
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	return c
}

// text returns the exports so far.
func (c *collector) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exported.String()
}

// shownCalls returns the list of calls and tasks of the page for developers, and each of them.
func shownCalls(t *testing.T, e *harness.Edge) string {
	t.Helper()
	shown := fetched(t, "http://"+e.Admin+"/dev/calls")
	list, _ := object(t, []byte(shown))["calls"].([]any)
	for _, one := range list {
		id, _ := dig(one, "id").(string)
		of := "/dev/calls/"
		if strings.HasPrefix(id, "task-") {
			of = "/dev/tasks/"
		}
		shown += fetched(t, "http://"+e.Admin+of+id)
	}
	return shown
}

// heldLeaky is a backend that repeats the secrets in its arguments: in progress, log messages and checkpoints before the gate opens, and
// in results, errors and questions afterwards.
type heldLeaky struct {
	*capability.Server
	entered, gate chan struct{}
}

func newHeldLeaky() *heldLeaky {
	h := &heldLeaky{capability.New("leaky", "1.0.0"), make(chan struct{}, 1000), make(chan struct{})}
	readOnly, asTask := capability.ReadOnly(), capability.Tasks(capability.TaskRequired)
	look := func(ctx context.Context, c *capability.Call, in leaked) (*capability.Result, error) {
		if err := c.Checkpoint([]byte(strings.Join(in.Secrets, "\n"))); err != nil {
			return nil, err
		}
		h.hold(ctx, c, in.Secrets)
		return &capability.Result{
			Content:    []*capability.Content{capability.Text(string(c.State())), capability.Text(strings.Join(in.Secrets, " "))},
			Structured: json.RawMessage(leakedJSON(in.Secrets)),
		}, nil
	}
	capability.AddTool(h.Server, "look", "Looks", look, readOnly)
	capability.AddTool(h.Server, "job", "Looks as a task", look, readOnly, asTask)
	capability.AddTool(h.Server, "write", "Writes", func(ctx context.Context, c *capability.Call, in leaked) (string, error) {
		h.hold(ctx, c, in.Secrets)
		return strings.Join(in.Secrets, "\n"), nil
	})
	crash := func(ctx context.Context, c *capability.Call, in leaked) (string, error) {
		h.hold(ctx, c, in.Secrets)
		return "", &capability.Failure{Reason: capability.Internal, Message: strings.Join(in.Secrets, " "), Data: json.RawMessage(leakedJSON(in.Secrets))}
	}
	capability.AddTool(h.Server, "crash", "Crashes", crash, readOnly)
	capability.AddTool(h.Server, "crash_job", "Crashes as a task", crash, readOnly, asTask)
	capability.AddTool(h.Server, "ask", "Asks", func(ctx context.Context, c *capability.Call, in leaked) (string, error) {
		if c.Round() == 1 {
			h.hold(ctx, c, in.Secrets)
			c.SetState([]byte(strings.Join(in.Secrets, "\n")))
		}
		got := c.AskForm("k", strings.Join(in.Secrets, " "), `{"type":"object","properties":{"x":{"type":"string"}}}`)
		return fmt.Sprint(got) + string(c.State()), nil
	}, readOnly)
	capability.AddPrompt(h.Server, &capability.Prompt{Name: "leak", Arguments: []*capability.PromptArgument{{Name: "secrets", Required: true}}},
		func(ctx context.Context, c *capability.Call, arguments map[string]string) (string, error) {
			h.hold(ctx, c, strings.Split(arguments["secrets"], ";"))
			return arguments["secrets"], nil
		})
	capability.AddTemplate(h.Server, &capability.ResourceTemplate{UriTemplate: "leak://{n}", Name: "leak"},
		func(ctx context.Context, c *capability.Call, _ string, vars map[string]string) (string, error) {
			var seed uint64
			_, err := fmt.Sscan(vars["n"], &seed)
			h.hold(ctx, c, textsOf(drawn(seed)))
			return leakedText(drawn(seed)), err
		})
	return h
}

// hold sends progress and a log message with secrets, and waits for the gate.
func (h *heldLeaky) hold(ctx context.Context, c *capability.Call, secrets []string) {
	c.Progress(1, 2, strings.Join(secrets, ", "))
	c.Log(capability.LevelWarning, "leak", map[string]any{"said": secrets})
	h.entered <- struct{}{}
	select {
	case <-h.gate:
	case <-ctx.Done():
	}
}

// heldCall is a call or a task that runs at the first replica, and what its client got.
type heldCall struct {
	seed uint64
	// kind is the tool, or the kind of another request.
	kind string
	// last is the id of the last event that the client got. task is the id of a task, which has no last.
	last, task string
	// begun is what the client got from the first replica, rest what it got from the second.
	begun, rest strings.Builder
}

// begin begins the call of a seed, whose client leaves after the progress and the log message.
func (x *heldCall) begin(t *testing.T, client *session, tasks tasker) {
	t.Helper()
	texts := textsOf(drawn(x.seed))
	args, err := json.Marshal(leaked{texts})
	if err != nil {
		t.Fatal(err)
	}
	const token = `,"_meta":{"progressToken":"p"}}`
	kinds := []string{"look", "write", "crash", "ask", "job", "crash_job", "prompt", "resource"}
	x.kind = kinds[x.seed%uint64(len(kinds))]
	var r *reply
	switch x.kind {
	case "job", "crash_job":
		x.task = tasks.begin(x.kind, string(args))
		return
	case "prompt":
		r = client.request("prompts/get", `{"name":"leak","arguments":{"secrets":`+leaks.Quoted(strings.Join(texts, ";"))+`}`+token)
	case "resource":
		r = client.request("resources/read", fmt.Sprintf(`{"uri":"leak://%d"`, x.seed)+token)
	default:
		r = client.callWithProgress(x.kind, string(args), "p")
	}
	stream := r.want(http.StatusOK).events()
	defer stream.close()
	for m := stream.message(); ; m = stream.message() {
		x.begun.Write(m.raw)
		if m.Method == "notifications/message" {
			break
		}
	}
	x.last = stream.lastID
}

// end reads the rest at another replica. It answers a question with the secrets.
func (x *heldCall) end(t *testing.T, client *session, tasks tasker) {
	t.Helper()
	if x.task != "" {
		await.Until(t, "the task ends", func() bool { return tasks.get(x.task)["status"] != "working" })
		x.rest.Write(tasks.end(x.task).raw)
		return
	}
	stream := client.get(x.last).want(http.StatusOK).events()
	defer stream.close()
	for m := stream.message(); ; m = stream.message() {
		x.rest.Write(m.raw)
		switch m.Method {
		case "":
			return
		case "elicitation/create":
			client.answer(m, `{"action":"accept","content":{"x":`+leaks.Quoted(leakedText(drawn(x.seed)))+`}}`)
		}
	}
}

// TestRedactTakeover: a replica is lost while it runs 16 calls and tasks with 100 secrets each, and another replica takes them over. None of
// the secrets is in the logs, the spans, the audits or the pages for developers of the two, and none reaches a client. Redis, which holds
// arguments, states and answers under the state keys, has none either. TestRedactTakeoverMany has more calls.
func TestRedactTakeover(t *testing.T) { redactTakeover(t, 16) }

func redactTakeover(t *testing.T, count int) {
	t.Helper()
	spans, h := collectSpans(t), newHeldLeaky()
	p := startPair(t, h.Server, func(c *config.Config) {
		c.Telemetry.TraceContent, c.Admin.Dev, c.Redact = true, true, redactAll()
		c.Redis.SealKeys = []string{base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))}
		c.Audit = &config.Audit{Arguments: "whole"}
	})
	open := sync.OnceFunc(func() { close(h.gate) })
	t.Cleanup(func() { // A test that has failed lets the calls end.
		open()
		p.back()
	})
	client := newSession(t, p.first.URL, vNov)
	client.request("logging/setLevel", `{"level":"debug"}`).result()
	here, there := modernTasker(t, p.first.URL), modernTasker(t, p.second.URL)
	calls := make([]heldCall, count)
	var all []leaks.Secret
	for i := range calls {
		calls[i].seed = uint64(i)
		calls[i].begin(t, client, here)
		all = append(all, drawn(uint64(i))...)
	}
	for range calls {
		await.Receive(t, "the backend to run each call", h.entered)
	}
	for _, secret := range drawn(0)[:20] { // The first replica logs unknown names, and no call that it loses.
		got := whole(client.request("prompts/get", `{"name":`+leaks.Quoted("of "+secret.Text)+`}`))
		none(t, "the error of an unknown prompt", got, all)
	}
	none(t, "Redis before the loss", dump(t, p.redis), all)
	p.lose()
	open()
	for i := range calls {
		x := &calls[i]
		x.end(t, client.at(p.second), there)
		none(t, "what a client got", x.begun.String()+x.rest.String(), drawn(x.seed))
		if n := strings.Count(x.begun.String(), "[REDACTED:"); n < 200 && x.task == "" {
			t.Errorf("%d texts of the progress and the log message of %s were replaced: %.2000s", n, x.kind, x.begun.String())
		}
		switch n := strings.Count(x.rest.String(), "[REDACTED:"); {
		case x.kind == "write" && !strings.Contains(x.rest.String(), "-31520"):
			t.Errorf("a call that may not run again ended with %.2000s", x.rest.String())
		case x.kind != "write" && n < 100:
			t.Errorf("%d texts of the outcome of %s were replaced: %.2000s", n, x.kind, x.rest.String())
		}
	}
	if n := strings.Count(p.second.Log.String(), "took over a call from a lost replica"); n != len(calls) {
		t.Errorf("the second replica took over %d calls, want %d", n, len(calls))
	}
	none(t, "Redis after the loss", dump(t, p.redis), all)
	said := map[string]string{"the page of the first": shownCalls(t, p.first), "the page of the second": shownCalls(t, p.second)}
	p.back()
	for i, e := range []*harness.Edge{p.first, p.second} {
		e.End(t)
		records, err := os.ReadFile(p.audits[i])
		if err != nil {
			t.Fatal(err)
		}
		said[fmt.Sprintf("the audit of replica %d", i)], said[fmt.Sprintf("the log of replica %d", i)] = string(records), e.Log.String()
	}
	said["the spans"] = spans.text()
	for where, text := range said {
		if !strings.Contains(text, "[REDACTED:") {
			t.Errorf("nothing was replaced in %s: %.2000s", where, text)
		}
		none(t, where, text, all)
	}
	none(t, "Redis at the end", dump(t, p.redis), all)
}
