package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestDeferred: a call that may become a task is answered directly if it ends soon. It becomes a
// task after the grace period, or when its backend requests it.
func TestDeferred(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(later, false)
		w.backend.tools["wants"] = tool{later, false, func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			if c.Task == nil || c.Task.ID != "" {
				t.Errorf("before it is a task the call knows of %+v", c.Task)
			}
			if err := sink.(mcp.Deferrer).Defer(ctx); err != nil {
				return mcp.Reply{}, err
			}
			select {
			case <-w.backend.gate("wants"):
				return result("done"), nil
			case <-ctx.Done():
				return mcp.Reply{}, ctx.Err()
			}
		}}
		w.backend.tools["fails"] = tool{later, false, func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{}, mcp.Errorf(mcp.KindUnavailable, "no connection")
		}}
		slow := w.replica(func(o *Options) { o.Grace = time.Hour })
		close(w.backend.gate("soon"))
		if got := slow.must(modern, "alice", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"soon"}`); got["resultType"] != "complete" {
			t.Errorf("a call that ends soon gave %v", got)
		}
		if _, err := slow.ask(modern, "alice", mcp.MethodToolsCall, `"name":"fails"`); kindOf(err) != mcp.KindUnavailable {
			t.Errorf("a call that fails soon gave %v", err)
		}
		a := w.replica(func(o *Options) { o.Grace = 300 * time.Millisecond })
		id := a.begin("gate", "late")
		close(w.backend.gate("late"))
		if got := text(a.awaits(id, Completed)); got != "passed late" {
			t.Errorf("got %q", got)
		}
		id = slow.begin("wants", "")
		close(w.backend.gate("wants"))
		if got := text(slow.awaits(id, Completed)); got != "done" {
			t.Errorf("got %q", got)
		}
	})
}

// TestClientLeavesBeforeTheTask: a disconnect before there is a task cancels the call, as in the
// stateless era.
func TestClientLeavesBeforeTheTask(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(later, false)
		a := w.replica(func(o *Options) { o.Grace = time.Hour })
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := a.Call(ctx, modern, requestOf(t, modern, "alice", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"x"}`), sink{})
			done <- err
		}()
		await.Until(t, "the backend to run", func() bool { return w.backend.running.Load() == 1 })
		leave()
		if err := await.Receive(t, "the call to end", done); kindOf(err) != mcp.KindCancelled {
			t.Errorf("it ended with %v", err)
		}
		await.Until(t, "the backend to be cancelled", func() bool { return w.backend.running.Load() == 0 })
	})
}

// sink drops the events of a call that has not become a task.
type sink struct{}

func (sink) Emit(context.Context, mcp.Event) error { return nil }

// TestRequiredAfterQuestions: the era asks the questions before there is a task. Their answers are
// part of the task, on every replica.
func TestRequiredAfterQuestions(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = tool{mcp.TaskSupport{Required: true}, true, func(ctx context.Context, c *mcp.Call, s mcp.Sink) (mcp.Reply, error) {
			if len(c.Responses) == 0 {
				return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{{Key: "name", Method: mcp.MethodElicit}}, State: []byte("kept")}}, nil
			}
			if err := s.(mcp.Deferrer).Defer(ctx); err != nil {
				return mcp.Reply{}, err
			}
			select {
			case <-w.backend.gate("ask"):
				name, _ := jsonString(c.Responses[0].Result, "name")
				return result(string(c.State) + " " + name), nil
			case <-ctx.Done():
				return mcp.Reply{}, ctx.Err()
			}
		}}
		a, b := w.replica(), w.replica()
		first, err := a.Call(t.Context(), modern, requestOf(t, modern, "alice", mcp.MethodToolsCall, `"name":"ask"`), sink{})
		if err != nil || first.Input == nil || string(first.Input.State) != "kept" {
			t.Fatalf("the first round gave %+v, %v", first, err)
		}
		again := requestOf(t, modern, "alice", mcp.MethodToolsCall, `"name":"ask"`)
		again.Round, again.State, again.Backend = 2, first.Input.State, "b"
		again.Responses = []mcp.InputResponse{{Key: "name", Method: mcp.MethodElicit, Result: json.RawMessage(`{"name":"Ada"}`)}}
		reply, err := a.Call(t.Context(), modern, again, sink{})
		if err != nil || !strings.Contains(string(reply.Result), `"resultType":"task"`) {
			t.Fatalf("the second round gave %s, %v", reply.Result, err)
		}
		id, _ := jsonString(reply.Result, "taskId")
		a.cut.off.Store(true)
		await.Until(t, "the task to run elsewhere", func() bool { return w.backend.ran.Load() == 3 })
		close(w.backend.gate("ask"))
		if got := text(b.awaits(id, Completed)); got != "kept Ada" {
			t.Errorf("got %q", got)
		}
	})
}

// TestClientsThatGetTasks: the revision, the client's declaration and request, and the tool decide
// whether a call becomes a task.
func TestClientsThatGetTasks(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		quick := func(s mcp.TaskSupport) tool {
			return tool{s, false, func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) { return result("plain"), nil }}
		}
		w.backend.tools["none"], w.backend.tools["optional"] = quick(mcp.TaskSupport{}), quick(atOnce)
		w.backend.tools["required"] = quick(mcp.TaskSupport{Required: true, AtOnce: true})
		a := w.replica()
		const plain, task, missing, notFound = "plain", "task", "missing_capability", "method_not_found"
		june := revision.Negotiate("2025-06-18")
		for _, c := range []struct {
			rules      *revision.Rules
			undeclared bool
			tool, more string
			want       string
		}{
			{modern, false, "none", "", plain}, {modern, false, "optional", "", task}, {modern, false, "required", "", task},
			{modern, true, "none", "", plain}, {modern, true, "optional", "", plain}, {modern, true, "required", "", missing},
			{modern, false, "none", `,"task":{}`, plain}, {modern, true, "optional", `,"task":{}`, plain},
			{legacy, false, "none", "", plain}, {legacy, false, "optional", "", plain}, {legacy, false, "required", "", notFound},
			{legacy, false, "none", `,"task":{}`, notFound}, {legacy, false, "optional", `,"task":{"ttl":60000}`, task},
			{legacy, false, "required", `,"task":{}`, task}, {legacy, false, "optional", `,"task":7`, "invalid_params"},
			{legacy, false, "optional", `,"task":{"ttl":"long"}`, "invalid_params"},
			{june, false, "optional", `,"task":{}`, plain}, {june, false, "required", `,"task":{}`, notFound},
		} {
			call := requestOf(t, c.rules, "alice", mcp.MethodToolsCall, `"name":"`+c.tool+`"`+c.more)
			if c.undeclared {
				call.Client.Capabilities = mcp.Capabilities{}
			}
			reply, err := a.Call(t.Context(), c.rules, call, sink{})
			got := kindOf(err).String()
			switch {
			case err != nil:
			case strings.Contains(string(reply.Result), `"taskId"`):
				got = task
			default:
				got = plain
			}
			if got != c.want {
				t.Errorf("%s, undeclared %v, %s%s: %s, want %s (%v)", c.rules.Version, c.undeclared, c.tool, c.more, got, c.want, err)
			}
		}
		for _, m := range []mcp.Method{mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel} {
			call := requestOf(t, modern, "alice", m, about("x"))
			call.Client.Capabilities = mcp.Capabilities{}
			if _, err := a.Call(t.Context(), modern, call, nil); kindOf(err) != mcp.KindMissingCapability {
				t.Errorf("%s of a client that did not declare the extension: %v", m, err)
			}
			if _, err := a.ask(june, "alice", m, about("x")); kindOf(err) != mcp.KindMethodNotFound {
				t.Errorf("%s in %s: %v", m, june.Version, err)
			}
		}
		for rules, m := range map[*revision.Rules]mcp.Method{modern: mcp.MethodTasksResult, legacy: mcp.MethodTasksUpdate} {
			if _, err := a.ask(rules, "alice", m, about("x")); kindOf(err) != mcp.KindMethodNotFound {
				t.Errorf("%s in %s: %v", m, rules.Version, err)
			}
		}
	})
}

// TestAcrossEras: a task of one era is read, answered and cancelled from the other, each in its own
// form.
func TestAcrossEras(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"], w.backend.tools["gate"] = asking(), w.backend.gated(atOnce, false)
		w.backend.tools["bad"] = tool{atOnce, false, func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{Result: json.RawMessage(`{"content":[{"type":"text","text":"out of paper"}],"isError":true,"structuredContent":[1]}`), ToolError: true}, nil
		}}
		a, b := w.replica(), w.replica()

		made := a.must(legacy, "alice", mcp.MethodToolsCall, `"name":"ask","task":{}`)
		task, _ := made["task"].(map[string]any)
		id, _ := task["taskId"].(string)
		if len(made) != 1 || task["status"] != "working" || task["ttl"] == nil || task["pollInterval"] == nil {
			t.Fatalf("with a session the task is %v", made)
		}
		b.awaits(id, InputRequired)
		asked, err := b.Call(t.Context(), legacy, requestOf(t, legacy, "alice", mcp.MethodTasksResult, about(id)), nil)
		if err != nil || asked.Input == nil || len(asked.Input.Requests) != 1 {
			t.Fatalf("tasks/result gave %+v, %v", asked, err)
		}
		if q := asked.Input.Requests[0]; !strings.Contains(string(q.Params), `"`+metaRelated+`":{"taskId":"`+id+`"}`) {
			t.Errorf("the question %s does not name its task", q.Params)
		}
		b.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+asked.Input.Requests[0].Key+`":{"name":"A"}}`)
		await.Until(t, "the second question", func() bool {
			k := keys(b.get(id))
			return len(k) == 1 && k[0] != asked.Input.Requests[0].Key
		})
		answered := requestOf(t, legacy, "alice", mcp.MethodTasksResult, about(id))
		answered.Round, answered.Responses = 2, []mcp.InputResponse{{Key: "name.2", Method: mcp.MethodElicit, Result: json.RawMessage(`{"name":"B"}`)}}
		final, err := a.Call(t.Context(), legacy, answered, nil)
		if err != nil || !strings.Contains(string(final.Result), "Hello, A B") || strings.Contains(string(final.Result), "resultType") ||
			!strings.Contains(string(final.Result), `"`+metaRelated+`":{"taskId":"`+id+`"}`) {
			t.Errorf("tasks/result gave %s, %v", final.Result, err)
		}
		if got := b.get(id); text(got) != "Hello, A B" || got["result"].(map[string]any)["resultType"] != "complete" {
			t.Errorf("without sessions the task is %v", got)
		}

		id = a.begin("bad", "")
		a.awaits(id, Completed)
		if got := b.must(legacy, "alice", mcp.MethodTasksGet, about(id)); got["status"] != "failed" || got["statusMessage"] != "out of paper" ||
			got["result"] != nil || got["resultType"] != nil {
			t.Errorf("with a session, a result with isError is %v", got)
		}
		if got := b.must(legacy, "alice", mcp.MethodTasksResult, about(id)); got["isError"] != true || got["structuredContent"] != nil {
			t.Errorf("with a session, its result is %v", got)
		}

		id = a.begin("gate", "x")
		if got := b.must(legacy, "alice", mcp.MethodTasksCancel, about(id)); got["status"] != "cancelled" {
			t.Errorf("tasks/cancel with a session gave %v", got)
		}
		if _, err := a.ask(legacy, "alice", mcp.MethodTasksCancel, about(id)); kindOf(err) != mcp.KindInvalidParams {
			t.Errorf("cancelled again: %v", err)
		}
		if got := a.get(id)["status"]; got != "cancelled" {
			t.Errorf("it is %v", got)
		}
		await.Until(t, "the backend to hear", func() bool { return w.backend.running.Load() == 0 })
	})
}

// TestWithdrawnQuestions: tasks/result withdraws its questions once another client has answered
// them, or the task has ended.
func TestWithdrawnQuestions(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = asking()
		a, b := w.replica(), w.replica()
		for what, settle := range map[string]func(id, key string){
			"answered": func(id, key string) {
				b.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+key+`":{"name":"A"}}`)
			},
			"cancelled": func(id, _ string) { b.must(legacy, "alice", mcp.MethodTasksCancel, about(id)) },
		} {
			id := a.begin("ask", "")
			a.awaits(id, InputRequired)
			asked, err := a.Call(t.Context(), legacy, requestOf(t, legacy, "alice", mcp.MethodTasksResult, about(id)), nil)
			if err != nil || asked.Input == nil {
				t.Fatalf("tasks/result gave %+v, %v", asked, err)
			}
			early, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if asked.Input.AwaitWithdrawal(early) {
				t.Errorf("%s: the questions were withdrawn before", what)
			}
			stop()
			settle(id, asked.Input.Requests[0].Key)
			if !asked.Input.AwaitWithdrawal(t.Context()) {
				t.Errorf("%s: the questions are not withdrawn", what)
			}
		}
	})
}

// TestAnswerThatSaysWithdrawn: a client's answer {"withdrawn":true} to a task is an ordinary
// answer, in either era.
func TestAnswerThatSaysWithdrawn(t *testing.T) {
	const own = `{"withdrawn":true}`
	onMedia(t, nil, func(t *testing.T, w *world) {
		question := mcp.InputRequest{Key: "k", Method: mcp.MethodCreateMessage, Params: json.RawMessage(`{"messages":[],"maxTokens":1}`)}
		w.backend.tools["sample"] = tool{mcp.TaskSupport{Required: true, AtOnce: true}, false, func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			switch {
			case c.State == nil:
				return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{question}, State: []byte("asked")}}, nil
			case len(c.Responses) == 0:
				return result("withdrawn"), nil
			}
			return result("heard " + strings.ReplaceAll(string(c.Responses[0].Result), `"`, "'")), nil
		}}
		a, b := w.replica(), w.replica()
		for era, give := range map[string]func(id, key string){
			"modern": func(id, key string) {
				b.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+key+`":`+own+`}`)
			},
			"legacy": func(id, key string) {
				c := requestOf(t, legacy, "alice", mcp.MethodTasksResult, about(id))
				c.Responses = []mcp.InputResponse{{Key: key, Method: mcp.MethodCreateMessage, Result: json.RawMessage(own)}}
				if _, err := b.Call(t.Context(), legacy, c, nil); err != nil {
					t.Errorf("tasks/result: %v", err)
				}
			},
		} {
			id := a.begin("sample", "")
			give(id, keys(a.awaits(id, InputRequired))[0])
			if got := text(a.awaits(id, Completed)); got != "heard {'withdrawn':true}" {
				t.Errorf("%s: %q", era, got)
			}
		}
	})
}

// TestAsksClientsThatCanAnswer: tasks/result asks a client only the questions whose capability it
// declared, and waits until other clients answer the rest.
func TestAsksClientsThatCanAnswer(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		form := mcp.InputRequest{Key: "form", Method: mcp.MethodElicit, Params: json.RawMessage(`{"mode":"form","message":"?"}`)}
		link := mcp.InputRequest{Key: "link", Method: mcp.MethodElicit, URLMode: true, Params: json.RawMessage(`{"mode":"url","message":"?","url":"https://example.com"}`)}
		sample := mcp.InputRequest{Key: "sample", Method: mcp.MethodCreateMessage, Params: json.RawMessage(`{"messages":[],"maxTokens":1}`)}
		equipped := mcp.InputRequest{Key: "equipped", Method: mcp.MethodCreateMessage, Params: json.RawMessage(`{"messages":[],"maxTokens":1,"tools":[]}`)}
		roots := mcp.InputRequest{Key: "roots", Method: mcp.MethodListRoots}
		w.backend.tools["all"] = tool{mcp.TaskSupport{Required: true, AtOnce: true}, false, func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			if len(c.Responses) > 0 {
				return result("done"), nil
			}
			return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{form, link, sample, equipped, roots}}}, nil
		}}
		a := w.replica()
		id := a.begin("all", "")
		a.awaits(id, InputRequired)
		result := func(ctx context.Context, caps string) (mcp.Reply, error) {
			c := requestOf(t, legacy, "alice", mcp.MethodTasksResult, about(id))
			c.Client.Capabilities, _ = mcp.ParseCapabilities(json.RawMessage(caps))
			return a.Call(ctx, legacy, c, nil)
		}
		for caps, want := range map[string]string{
			`{"elicitation":{}}`:                         "form.1",
			`{"elicitation":{"url":{}},"roots":{}}`:      "link.1 roots.1",
			`{"sampling":{}}`:                            "sample.1",
			`{"sampling":{"tools":{}},"elicitation":{}}`: "form.1 sample.1 equipped.1",
		} {
			reply, err := result(t.Context(), caps)
			if err != nil || reply.Input == nil {
				t.Errorf("%s: %+v, %v", caps, reply, err)
				continue
			}
			var got []string
			for _, q := range reply.Input.Requests {
				got = append(got, q.Key)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("a client with %s is asked %q, not %s", caps, got, want)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := result(ctx, `{}`); kindOf(err) != mcp.KindCancelled { // the request's own timeout has passed
			t.Errorf("a client that can answer nothing: %v", err)
		}
	})
}

// TestWatchedTasks: a subscriber gets the state of each task, and then each change, on whichever
// replica the task runs.
func TestWatchedTasks(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = asking()
		a, b := w.replica(), w.replica()
		id := a.begin("ask", "")
		feed, err := b.Changes(t.Context(), "", mcp.Principal{Subject: "alice", Issuer: "test"}, mcp.Filter{Tasks: []string{id}})
		if err != nil {
			t.Fatal(err)
		}
		defer feed.Close()
		awaited := func(want Status) map[string]any {
			t.Helper()
			for {
				ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
				changes, err := feed.Next(ctx, time.Second)
				cancel()
				if err != nil {
					t.Fatalf("waiting for %s: %v", want, err)
				}
				for _, c := range changes {
					var got map[string]any
					if err := json.Unmarshal([]byte("{"+c.Task+"}"), &got); err != nil || c.Kind != mcp.TaskChanged {
						t.Fatalf("%+v: %v", c, err)
					}
					if got["status"] == string(want) {
						return got
					}
				}
			}
		}
		for _, key := range []string{"name.1", "name.2"} {
			if got := keys(awaited(InputRequired)); len(got) != 1 || got[0] != key {
				t.Errorf("asked %v, want %s", got, key)
			}
			a.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+key+`":{"name":"N"}}`)
		}
		if got := text(awaited(Completed)); got != "Hello, N N" {
			t.Errorf("got %q", got)
		}
	})
}

// TestDrainHandsTasksOver: a repeatable run is left to the next replica at once. A drain waits for
// the others until its deadline.
func TestDrainHandsTasksOver(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["safe"], w.backend.tools["unsafe"] = w.backend.gated(atOnce, true), w.backend.gated(atOnce, false)
		w.backend.tools["pauses"] = tool{atOnce, false, func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			w.backend.ran.Add(-1)
			return mcp.Reply{Input: &mcp.InputRequired{State: []byte("job"), RetryAfter: time.Hour}}, nil
		}}
		a, b := w.replica(), w.replica()
		a.begin("pauses", "")
		safe, once := a.begin("safe", "safe"), a.begin("unsafe", "unsafe")
		await.Until(t, "both to run", func() bool { return w.backend.running.Load() == 2 })
		drained := make(chan error, 1)
		go func() { drained <- a.Drain(context.Background()) }()
		await.Receive(t, "the drain to begin", a.calls.Draining())
		select {
		case err := <-drained:
			t.Fatalf("drained while a task ran that cannot be run again: %v", err)
		default:
		}
		close(w.backend.gate("unsafe"))
		if err := await.Receive(t, "the drain", drained); err != nil {
			t.Fatal(err)
		}
		a.Close()
		await.Until(t, "the other to run at the next replica", func() bool { return w.backend.ran.Load() == 3 })
		close(w.backend.gate("safe"))
		if got := text(b.awaits(safe, Completed)); got != "passed safe" {
			t.Errorf("got %q", got)
		}
		if got := text(b.awaits(once, Completed)); got != "passed unsafe" {
			t.Errorf("got %q", got)
		}
	})
}

// TestBusyBackend: a backend with its own jobs returns a state until the job is done. Another
// replica continues to query the job.
func TestBusyBackend(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["job"] = tool{atOnce, true, func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			select {
			case <-w.backend.gate("job"):
				return result("job " + string(c.State)), nil
			default:
				return mcp.Reply{Input: &mcp.InputRequired{State: []byte("handle 7"), RetryAfter: 100 * time.Millisecond}}, nil
			}
		}}
		a, b := w.replica(), w.replica()
		id := a.begin("job", "")
		await.Until(t, "some rounds", func() bool { return w.backend.ran.Load() > 3 })
		a.cut.off.Store(true)
		ran := w.backend.ran.Load()
		await.Until(t, "rounds elsewhere", func() bool { return w.backend.ran.Load() > ran+3 })
		close(w.backend.gate("job"))
		if got := text(b.awaits(id, Completed)); got != "job handle 7" {
			t.Errorf("got %q", got)
		}
	})
}

// TestCheckpoint: a task that is not repeatable from its beginning is run again from its
// checkpoint, with the earlier answers. Its losses are counted from the checkpoint.
func TestCheckpoint(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["steps"] = tool{atOnce, false, func(ctx context.Context, c *mcp.Call, s mcp.Sink) (mcp.Reply, error) {
			done := string(c.State)
			for _, step := range []string{"a", "b", "c"} {
				if strings.Contains(done, step) {
					continue
				}
				if step != "a" {
					select {
					case <-w.backend.gate(step):
					case <-ctx.Done():
						return mcp.Reply{}, ctx.Err()
					}
				}
				done += step
				s.(mcp.Checkpointer).Checkpoint([]byte(done))
			}
			return result(done + " in attempt " + string('0'+rune(c.Attempt))), nil
		}}
		first := w.replica()
		id := first.begin("steps", "")
		kept := func(r *replica, want string) {
			t.Helper()
			await.Until(t, "the checkpoint "+want, func() bool {
				c := r.calls.Driver(id)
				if c == nil {
					return false
				}
				_, _, own, _ := runtime.OpenState(c.Kept().State)
				return string(own) == want
			})
		}
		kept(first, "a")
		second := w.replica()
		first.cut.off.Store(true)
		await.Until(t, "the second run", func() bool { return w.backend.ran.Load() == 2 })
		close(w.backend.gate("b"))
		kept(second, "ab")
		third := w.replica()
		second.cut.off.Store(true)
		await.Until(t, "the third run", func() bool { return w.backend.ran.Load() == 3 })
		close(w.backend.gate("c"))
		if got := text(third.awaits(id, Completed)); got != "abc in attempt 2" {
			t.Errorf("got %q", got)
		}
	})
}

// TestTaskRoundsAreBounded: a task may ask in a bounded number of rounds; one more ends it.
func TestTaskRoundsAreBounded(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = asking() // in two rounds
		for most, want := range map[int]Status{1: Failed, 2: Completed} {
			a := w.replica(func(o *Options) { o.MaxRounds = most })
			id := a.begin("ask", "")
			for range most {
				now := keys(a.awaits(id, InputRequired))
				a.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+now[0]+`":{"name":"N"}}`)
				await.Until(t, "the answer to be heard", func() bool { return !slices.Contains(keys(a.get(id)), now[0]) })
			}
			if got := fmt.Sprint(a.awaits(id, want)); want == Failed && !strings.Contains(got, `asks "name" after round 1 of questions`) {
				t.Errorf("it ended with %s", got)
			}
		}
	})
}

// TestRepeatableRounds: a round that its backend marked as repeatable is run again, even if its
// tool is not repeatable. The backend is notified of a job that is no longer needed.
func TestRepeatableRounds(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		hang := make(chan struct{})
		w.backend.tools["job"] = tool{atOnce, false, func(ctx context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			if c.State == nil || c.Attempt > 1 || len(c.Params.Arguments) > len(`{"name":""}`) {
				return mcp.Reply{Input: &mcp.InputRequired{State: []byte("job 7"), Repeatable: true, RetryAfter: 100 * time.Millisecond}}, nil
			}
			hang <- struct{}{}
			<-ctx.Done()
			return mcp.Reply{}, ctx.Err()
		}}
		a, b := w.replica(), w.replica()
		id := a.begin("job", "")
		await.Receive(t, "the second round to run", hang)
		a.cut.off.Store(true)
		await.Receive(t, "the third round to run at the other replica", hang)
		if got := b.get(id)["status"]; got != "working" {
			t.Errorf("the task is %v", got)
		}
		b.must(modern, "alice", mcp.MethodTasksCancel, about(id)) // during a round, which only queries the job, and which is cancelled, too
		if got := await.Receive(t, "the backend to be notified, too", w.backend.cancelled); got != "job 7" {
			t.Errorf("it was notified of %q", got)
		}
		a.back()
		await.Until(t, "the runs to end", func() bool { return w.backend.running.Load() == 0 })
		id = b.begin("job", "waits")
		ran := w.backend.ran.Load()
		await.Until(t, "some rounds", func() bool { return w.backend.ran.Load() > ran+2 })
		b.must(modern, "alice", mcp.MethodTasksCancel, about(id))
		if got := await.Receive(t, "the backend to be notified", w.backend.cancelled); got != "job 7" || len(w.backend.cancelled) > 0 {
			t.Errorf("it was notified of %q, and of %d more", got, len(w.backend.cancelled))
		}
	})
}

// TestBackendAwayWhileItIsAsked: a backend that is unavailable at a query of its job is queried
// again. One that is unavailable at the start of the job has not begun it.
func TestBackendAwayWhileItIsAsked(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		var away atomic.Int32
		w.backend.tools["job"] = tool{atOnce, false, func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			name, _ := jsonString(c.Params.Arguments, "name")
			switch {
			case name == "gone", c.State != nil && away.Add(1) < 3:
				return mcp.Reply{}, mcp.Errorf(mcp.KindUnavailable, "no connection")
			case c.State != nil:
				return result("done by " + string(c.State)), nil
			}
			return mcp.Reply{Input: &mcp.InputRequired{State: []byte("job"), Repeatable: true}}, nil
		}}
		a := w.replica()
		id := a.begin("job", "back")
		if got := text(a.awaits(id, Completed)); got != "done by job" {
			t.Errorf("got %q", got)
		}
		a.awaits(a.begin("job", "gone"), Failed)
	})
}

// TestBusyBeforeTheTask: the edge queries the job of a call that may become a task. It returns the
// result of a job that is done soon, and makes a task of any other, without a request of the
// backend. A cancellation before there is a task cancels the job.
func TestBusyBeforeTheTask(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["job"] = tool{later, false, func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			name, _ := jsonString(c.Params.Arguments, "name")
			select {
			case <-w.backend.gate(name):
				if c.State != nil {
					return result(string(c.State) + " of " + name), nil
				}
			default:
			}
			return mcp.Reply{Input: &mcp.InputRequired{State: []byte("job"), Repeatable: true}}, nil
		}}
		close(w.backend.gate("soon"))
		slow := w.replica(func(o *Options) { o.Grace = time.Hour })
		if got := slow.must(modern, "alice", mcp.MethodToolsCall, `"name":"job","arguments":{"name":"soon"}`); got["resultType"] != "complete" {
			t.Errorf("a job that is done soon gave %v", got)
		}
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error, 1)
		ran := w.backend.ran.Load()
		go func() {
			_, err := slow.Call(ctx, modern, requestOf(t, modern, "alice", mcp.MethodToolsCall, `"name":"job","arguments":{"name":"left"}`), sink{})
			done <- err
		}()
		await.Until(t, "the job to be asked about", func() bool { return w.backend.ran.Load() > ran+1 })
		leave()
		if err := await.Receive(t, "the call to end", done); kindOf(err) != mcp.KindCancelled {
			t.Errorf("it ended with %v", err)
		}
		if got := await.Receive(t, "the backend to be notified", w.backend.cancelled); got != "job" {
			t.Errorf("it was notified of %q", got)
		}
		a, b := w.replica(), w.replica()
		id := a.begin("job", "late")
		await.Until(t, "the job to be in the record", func() bool { return a.calls.Driver(id).Kept().Resumable })
		a.cut.off.Store(true)
		close(w.backend.gate("late"))
		if got := text(b.awaits(id, Completed)); got != "job of late" {
			t.Errorf("got %q", got)
		}
	})
}

// TestCancelledAsItBegins: a cancellation of a run that is just beginning does not race with it.
func TestCancelledAsItBegins(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["silent"] = tool{atOnce, false, func(ctx context.Context, _ *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			<-ctx.Done()
			return mcp.Reply{}, ctx.Err()
		}}
		a := w.replica()
		for range 50 {
			id := a.begin("silent", "")
			a.must(modern, "alice", mcp.MethodTasksCancel, about(id))
			a.awaits(id, Cancelled)
		}
	})
}

// TestNotificationsOfSessions: a session's subscriber gets no notification of an unchanged task. It
// gets the later states, without results, increasing progress under the client's token, and the end
// or the expiry.
func TestNotificationsOfSessions(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		steps := make(chan string)
		w.backend.tools["steps"] = tool{atOnce, false, func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			for params := range steps {
				if err := sink.Emit(ctx, mcp.Event{Method: mcp.NotifyProgress, Params: json.RawMessage(params)}); err != nil {
					return mcp.Reply{}, err
				}
			}
			return result("done"), nil
		}}
		a, b := w.replica(), w.replica()
		alice := mcp.Principal{Subject: "alice", Issuer: "test"}
		made := a.must(legacy, "alice", mcp.MethodToolsCall, `"name":"steps","task":{},"_meta":{"progressToken":"p"}`)
		id := made["task"].(map[string]any)["taskId"].(string)
		filter := mcp.Filter{Tasks: []string{id}, TasksPlain: true}
		feed, err := b.Changes(t.Context(), "", alice, filter)
		if err != nil {
			t.Fatal(err)
		}
		defer feed.Close()
		var heard []string
		over := false
		hear := func(what string) {
			t.Helper()
			for !slices.Contains(heard, what) {
				ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
				changes, err := feed.Next(ctx, await.Patience)
				cancel()
				if err != nil {
					t.Fatalf("waiting for %s: %v; heard %v", what, err, heard)
				}
				for _, c := range changes {
					var got map[string]any
					if err := json.Unmarshal([]byte("{"+c.Task+"}"), &got); err != nil {
						t.Fatal(err, c)
					}
					over = over || c.Over
					if c.Kind == mcp.TaskStatus && got["result"] == nil && got["taskId"] == id {
						got = map[string]any{"status": got["status"], "statusMessage": got["statusMessage"]}
					}
					raw, _ := json.Marshal(got)
					heard = append(heard, string(c.Kind.Notification())+" "+string(raw))
				}
			}
		}
		steps <- `{"progressToken":"task","progress":1,"total":3}`
		hear(`notifications/tasks/status {"status":"working","statusMessage":"1 of 3"}`)
		steps <- `{"progressToken":"task","progress":2,"message":"half"}`
		hear(`notifications/tasks/status {"status":"working","statusMessage":"half"}`)
		steps <- `{"progressToken":"task","progress":2,"message":"still"}` // dispatch would drop this event
		hear(`notifications/tasks/status {"status":"working","statusMessage":"still"}`)
		close(steps)
		hear(`notifications/tasks/status {"status":"completed","statusMessage":"still"}`)
		want := []string{
			`notifications/progress {"progress":1,"progressToken":"p","total":3}`, `notifications/tasks/status {"status":"working","statusMessage":"1 of 3"}`,
			`notifications/progress {"message":"half","progress":2,"progressToken":"p"}`, `notifications/tasks/status {"status":"working","statusMessage":"half"}`,
			`notifications/tasks/status {"status":"working","statusMessage":"still"}`, `notifications/tasks/status {"status":"completed","statusMessage":"still"}`,
		}
		if !over || !slices.Equal(heard, want) {
			t.Errorf("over: %v, heard\n%s\nwant\n%s", over, strings.Join(heard, "\n"), strings.Join(want, "\n"))
		}
		late, err := a.Changes(t.Context(), "", alice, filter)
		if err != nil {
			t.Fatal(err)
		}
		defer late.Close()
		if err := b.store.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		for expired := false; !expired; {
			changes, err := late.Next(t.Context(), await.Patience)
			if err != nil {
				t.Fatal(err)
			}
			expired = slices.ContainsFunc(changes, func(c mcp.Change) bool { return c.Over && c.Task == "" })
		}
	})
}
