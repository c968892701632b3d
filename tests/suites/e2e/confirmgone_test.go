package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestConfirmRefusedAfterChange: a call that its user did not confirm does not run, also if the confirmation was removed from the settings
// before the answer.
func TestConfirmRefusedAfterChange(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	w := newWiper()
	capability.AddTool(w.Server, "must", "Wipes as a task", func(context.Context, *capability.Call, wiped) (string, error) {
		return fmt.Sprint("run ", w.runs.Add(1)), nil
	}, capability.Tasks(capability.TaskRequired))
	backends := "backends:\n" + backend("fixture", startService(t, w.Server), "")
	asking := backends + "policy: {default: allow, confirm: [{name: sure, when: 'true', message: Go?}]}\n"
	e := govern(t, asking)
	tasks := newStateless(t, e.URL, `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	for answer, code := range map[string]int{sayNo: -31403, goAway: -31403, leaveOpen: -31403, sayYes: 0} {
		var over []func() message // the ends of calls, once their answers were sent
		s, c, o := newSession(t, e.URL, vNov), newStateless(t, e.URL), newOperator(t, e.Edge)
		stream := s.call("wipe", `{"path":"a"}`).want(http.StatusOK).events()
		asked := stream.awaitMethod("elicitation/create")
		over = append(over, func() message { s.answer(asked, answer); return stream.message() })
		failing := s.call("wipe", `{"path":"a"}`).want(http.StatusOK).events()
		refused := failing.awaitMethod("elicitation/create")
		id, _ := dig(s.request("tools/call", `{"name":"job","arguments":{"path":"a"},"task":{}}`).result(), "task", "taskId").(string)
		await.Until(t, "the task asks", func() bool {
			return s.request("tasks/get", `{"taskId":"`+id+`"}`).result()["status"] == "input_required"
		})
		result := s.request("tasks/result", `{"taskId":"`+id+`"}`).events()
		question := result.awaitMethod("elicitation/create")
		over = append(over, func() message { s.answer(question, answer); return result.message() })
		state := retry(t, c.call("wipe", `{"path":"a"}`).result(), confirming(answer))
		over = append(over, func() message { return c.call("wipe", `{"path":"a"}`, state).json() })
		task, _ := tasks.call("must", `{"path":"a"}`).result()["taskId"].(string)
		get := func() map[string]any { return tasks.request("tasks/get", map[string]any{"taskId": task}).result() }
		await.Until(t, "the task of 2026-07-28 asks", func() bool { return get()["status"] == "input_required" })
		var rest struct{ InputRequired struct{ State string } }
		if err := json.Unmarshal([]byte(o.post("/v1/tools/wipe:call", `{"arguments":{"path":"a"}}`).want(http.StatusOK).text), &rest); err != nil {
			t.Fatal(err)
		}
		before := w.runs.Load()

		e.change(backends + "policy: {default: allow}\n")
		for i, end := range over {
			if m := end(); code != 0 {
				m.wantError(t, code)
			} else if got := text(t, m.result(t)); !strings.HasPrefix(got, "run ") {
				t.Errorf("%d: %q", i, got)
			}
		}
		s.post(`{"jsonrpc":"2.0","id":` + string(refused.ID) + `,"error":{"code":-32603,"message":"no screen"}}`).want(http.StatusAccepted)
		failing.message().wantError(t, -31403)
		tasks.request("tasks/update", map[string]any{"taskId": task, "inputResponses": json.RawMessage(`{"mcpedge.confirm.1":` + answer + `}`)}).want(http.StatusOK)
		await.Until(t, "the task to end", func() bool { s := get()["status"]; return s == "completed" || s == "failed" })
		if got := get()["status"]; (got == "completed") != (code == 0) {
			t.Errorf("%s: the task is %v", answer, got)
		}
		again := `{"arguments":{"path":"a"},"round":{"state":"` + rest.InputRequired.State + `","responses":` + confirming(answer) + `}}`
		if got := o.post("/v1/tools/wipe:call", again); (got.status == http.StatusOK) != (code == 0) {
			t.Errorf("%s over REST: %d %s", answer, got.status, got.text)
		}
		want := before
		if code == 0 {
			want += 5
		}
		w.ran(t, want)
		c.call("wipe", `{"path":"a"}`, state).json().wantError(t, map[bool]int{true: -31520, false: -31403}[code == 0])
		w.ran(t, want)
		e.change(asking)
	}
}
