package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
)

// marking is a hook that marks each result, and can hold one until it is released.
type marking struct {
	*hookserver.Server
	mu      sync.Mutex
	held    chan struct{} // nil: no result is held
	entered chan struct{}
	seen    []string
}

func newMarking(t *testing.T) *marking {
	m := &marking{Server: hookserver.Serve(t), entered: make(chan struct{}, 9)}
	m.OnResult(func(ctx context.Context, req *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
		if req.GetOutcome().GetTool() == nil {
			return hookserver.PassResult(ctx, req)
		}
		text := req.GetOutcome().GetTool().GetContent()[0].GetText().GetText()
		m.mu.Lock()
		held := m.held
		m.held, m.seen = nil, append(m.seen, text)
		m.mu.Unlock()
		if held != nil {
			m.entered <- struct{}{}
			<-held
		}
		return hookserver.Outcome(hookserver.Text(text+" marked"))(ctx, req)
	})
	return m
}

// hold holds the next result until release is called.
func (m *marking) hold() (release func()) {
	held := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = held
	return func() { close(held) }
}

// checked returns the texts that were checked since it was called before.
func (m *marking) checked() (seen []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen, m.seen = m.seen, nil
	return seen
}

// hookedPair is two replicas with a hook that marks results, and a client of the first, which can be lost.
type hookedPair struct {
	*pair
	t      *testing.T
	m      *marking
	client *session
}

func startHooked(t *testing.T) *hookedPair {
	var runs atomic.Int64
	s := capability.New("fixture", "1")
	run := func(context.Context, *capability.Call, struct{}) (string, error) {
		return fmt.Sprintf("card %s run %d", spilled, runs.Add(1)), nil
	}
	capability.AddTool(s, "look", "Looks", run, capability.ReadOnly())
	capability.AddTool(s, "write", "Writes", run)
	capability.AddTool(s, "job", "Looks as a task", run, capability.ReadOnly(), capability.Tasks(capability.TaskRequired))
	m := newMarking(t)
	p := startPair(t, s, redactCards, hookedBy(m.Server), func(c *config.Config) { c.Hooks[0].On = config.Names{"result"} })
	t.Cleanup(p.back) // What the first replica runs ends when it reaches Redis.
	return &hookedPair{p, t, m, newSession(t, p.first.URL, vNov)}
}

// loses begins something at the first replica, and loses that while the hook checks the result.
func (p *hookedPair) loses(begin func()) {
	p.t.Helper()
	release := p.m.hold()
	begin()
	await.Receive(p.t, "the check of the first result", p.m.entered)
	p.lose()
	release()
}

// begins calls a tool in a session, whose client goes away, and returns the id of the first event.
func (p *hookedPair) begins(tool string) string {
	p.t.Helper()
	stream := p.client.call(tool, "{}").want(http.StatusOK).events()
	defer stream.close()
	primed, _ := stream.next()
	return primed.ID
}

// resumed is what the client gets at the second replica.
func (p *hookedPair) resumed(last string) *stream {
	return p.client.at(p.second).get(last).want(http.StatusOK).events()
}

// is checks what the client got, and that the results of so many runs were checked, each once.
func (p *hookedPair) is(got, want string, checks int) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("the client got %q, want %q", got, want)
	}
	var unmarked []string
	for i := range checks {
		unmarked = append(unmarked, fmt.Sprintf("card %s run %d", spilled, i+1))
	}
	if seen := p.m.checked(); !slices.Equal(seen, unmarked) {
		p.t.Errorf("checked %q, want %q", seen, unmarked)
	}
	if strings.Contains(dump(p.t, p.redis), spilled) {
		p.t.Error("Redis has a result that was not redacted")
	}
}

// TestHookTakeover: a replica is lost when a hook has checked a result that the client did not get. Whoever takes the call over has its own
// result checked, and the client gets one that was checked and redacted once, or an error; a result that was stored is not checked again.
func TestHookTakeover(t *testing.T) {
	t.Parallel() // it waits for most of its time
	const first, second = "card [REDACTED:cards] run 1 marked", "card [REDACTED:cards] run 2 marked"
	t.Run("a call that may run again", func(t *testing.T) {
		p, last := startHooked(t), ""
		p.loses(func() { last = p.begins("look") })
		p.is(text(t, p.resumed(last).message().result(t)), second, 2)
	})
	t.Run("a call that may not", func(t *testing.T) {
		p, last := startHooked(t), ""
		p.loses(func() { last = p.begins("write") })
		p.is(string(p.resumed(last).awaitError(-31520).Result), "", 1)
	})
	t.Run("a task of 2025-11-25", func(t *testing.T) {
		p, id := startHooked(t), ""
		p.loses(func() {
			made := p.client.request("tools/call", `{"name":"job","arguments":{},"task":{}}`).want(http.StatusOK).result()
			id, _ = dig(made, "task", "taskId").(string)
		})
		result := p.client.at(p.second).request("tasks/result", `{"taskId":"`+id+`"}`).want(http.StatusOK).final()
		p.is(text(t, result.result(t)), second, 2)
	})
	t.Run("a task of 2026-07-28", func(t *testing.T) {
		p, id := startHooked(t), ""
		p.loses(func() { id = modernTasker(t, p.first.URL).begin("job", "{}") })
		there := modernTasker(t, p.second.URL)
		await.Until(t, "the task ends", func() bool { return there.get(id)["status"] == "completed" })
		p.is(text(t, there.get(id)["result"].(map[string]any)), second, 2)
	})
	t.Run("a result that was stored", func(t *testing.T) {
		p := startHooked(t)
		release := p.m.hold()
		last := p.begins("look")
		await.Receive(t, "the check of the result", p.m.entered)
		release()
		p.is(text(t, p.resumed(last).message().result(t)), first, 1)
		p.lose()
		p.is(text(t, p.resumed(last).message().result(t)), first, 0)
	})
}
