package tasks

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/memory"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limits returns the limits of the media under test, with a short lease so that losses are found
// soon.
func limits(adjust func(*state.Limits)) state.Limits {
	l := state.DefaultLimits()
	l.Lease, l.SessionTTL, l.LogTTL, l.LogEvents = 600*time.Millisecond, time.Minute, time.Minute, 8
	if adjust != nil {
		adjust(&l)
	}
	return l
}

// media open a medium for a test. Each replica opens its store on it.
var media = map[string]func(t *testing.T, l state.Limits) func(medium.Hooks) medium.Store{
	"memory": func(_ *testing.T, l state.Limits) func(medium.Hooks) medium.Store {
		m, n := memory.New(l), 0
		return func(h medium.Hooks) medium.Store {
			n++
			return m.Store(strings.Repeat("r", n), h)
		}
	},
	"redis": func(t *testing.T, l state.Limits) func(medium.Hooks) medium.Store {
		return redisAt(t, redisserver.ForTest(t).Addr, l)
	},
}

// redisAt opens stores on a Redis.
func redisAt(t *testing.T, addr string, l state.Limits) func(medium.Hooks) medium.Store {
	return func(h medium.Hooks) medium.Store {
		client := goredis.NewClient(&goredis.Options{Addr: addr})
		r, err := redis.New(client, redis.Options{Limits: l, Prefix: "test"})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Store(h)
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close(); _ = client.Close() })
		return s
	}
}

// onMedia runs a test on every medium.
func onMedia(t *testing.T, adjust func(*state.Limits), fn func(t *testing.T, w *world)) {
	for name, open := range media {
		t.Run(name, func(t *testing.T) {
			fn(t, newWorld(t, open(t, limits(adjust))))
		})
	}
}

// inTime runs a test on every medium that keeps what has ended for ttl. fn returns false if it was too slow to see the state before ttl had
// passed, and is then run again with four times as much.
func inTime(t *testing.T, ttl time.Duration, fn func(t *testing.T, w *world, ttl time.Duration) bool) {
	for name, open := range media {
		t.Run(name, func(t *testing.T) {
			for ttl := ttl; ; ttl *= 4 {
				l := limits(func(l *state.Limits) { l.SessionTTL, l.LogTTL = ttl, ttl })
				if fn(t, newWorld(t, open(t, l)), ttl) {
					return
				}
				if t.Logf("too slow to see what is kept for %s", ttl); ttl > await.Patience {
					t.FailNow()
				}
			}
		})
	}
}

func newWorld(t *testing.T, open func(medium.Hooks) medium.Store) *world {
	return &world{t: t, open: open, backend: &backend{tools: map[string]tool{}, gates: map[string]chan struct{}{}, cancelled: make(chan string, 10)}}
}

// world is a set of replicas on one medium, before one backend.
type world struct {
	t       *testing.T
	open    func(medium.Hooks) medium.Store
	backend *backend

	mu   sync.Mutex
	cuts []*cut // of all replicas
}

// beat sends the heartbeats of all replicas but one that can reach the medium and have not left it, so that on a slow machine the lease of
// none passes that a test has not cut off.
func (w *world) beat(ctx context.Context, but *cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.cuts {
		if c != but && !c.off.Load() && !c.left.Load() {
			_, _ = c.Store.Beat(ctx, 0, false)
		}
	}
}

// replica is one replica of a world. Its store can be cut off.
type replica struct {
	*Tasks
	w   *world
	cut *cut
}

func (w *world) replica(adjust ...func(*Options)) *replica {
	w.t.Helper()
	r := &replica{w: w}
	o := Options{
		Polls:      100_000, // A test that awaits a task polls it continuously.
		ServerInfo: serverInfo,
		Heartbeat:  50 * time.Millisecond, Grace: 100 * time.Millisecond, TTL: time.Minute, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, fn := range adjust {
		fn(&o)
	}
	r.Tasks = New(w.backend, func(h medium.Hooks) medium.Store {
		r.cut = &cut{Store: w.open(h), w: w}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.cuts = append(w.cuts, r.cut)
		return r.cut
	}, o)
	r.Start()
	w.t.Cleanup(r.Close)
	return r
}

// back reconnects the replica to the medium, and notifies it as a medium does that was unavailable.
func (r *replica) back() {
	r.cut.off.Store(false)
	r.calls.Returning()
}

// cut is a store that can be disconnected from the medium.
type cut struct {
	medium.Store
	w   *world
	off atomic.Bool
	// sweeping is held for reading by each search for lost calls, which takes several steps.
	sweeping sync.RWMutex
	// left is set when the replica leaves the medium.
	left atomic.Bool
	// claimless disconnects claims only, writeless steps only. unwritten counts those.
	claimless, writeless atomic.Bool
	unwritten            atomic.Int64
	// dies disconnects the store at its next claim of a cancelled task.
	dies atomic.Bool
	// begins disconnects the store once a task has begun.
	begins atomic.Bool
	// written is called after each stored end of a task, before the writer gets the result; nil
	// disables it. marked is the same for each stored step that says that the backend is called, with
	// the task's id.
	written atomic.Pointer[func()]
	marked  atomic.Pointer[func(task string)]
}

func (c *cut) err() error {
	if c.off.Load() {
		return state.ErrUnavailable
	}
	return nil
}

func (c *cut) Create(ctx context.Context, s *state.Session) error {
	if err := c.err(); err != nil {
		return err
	}
	return c.Store.Create(ctx, s)
}

func (c *cut) Load(ctx context.Context, id string, use bool) (*state.SessionInfo, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	return c.Store.Load(ctx, id, use)
}

func (c *cut) Commit(ctx context.Context, w *medium.Write) error {
	if err := c.err(); err != nil {
		return err
	}
	if c.writeless.Load() {
		c.unwritten.Add(1)
		return state.ErrUnavailable
	}
	err := c.Store.Commit(ctx, w)
	if err == nil && len(w.Begin) > 0 && c.begins.Load() {
		c.off.Store(true)
	}
	if written := c.written.Load(); written != nil && err == nil && w.Next == medium.NextDone {
		(*written)()
	}
	if marked := c.marked.Load(); marked != nil && err == nil && w.Next == medium.NextDispatched {
		(*marked)(w.Session)
	}
	return err
}

func (c *cut) Claim(ctx context.Context, w medium.ClaimTarget) (*medium.Owned, error) {
	if err := c.err(); err != nil || c.claimless.Load() {
		return nil, state.ErrUnavailable
	}
	o, err := c.Store.Claim(ctx, w)
	if err == nil && w.Cancel && c.dies.Load() {
		c.off.Store(true)
	}
	return o, err
}

func (c *cut) Beat(ctx context.Context, max int, leaving bool) ([]medium.ClaimTarget, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	if leaving {
		c.w.mu.Lock()
		c.left.Store(true)
		c.w.mu.Unlock()
	} else if max > 0 { // It looks for replicas that are lost.
		c.sweeping.RLock()
		defer c.sweeping.RUnlock()
		if err := c.err(); err != nil {
			return nil, err
		}
		c.w.beat(ctx, c)
	}
	return c.Store.Beat(ctx, max, leaving)
}

// disconnect disconnects the store when no search for lost calls is in progress. A search that read before a test puts back older data in the
// medium could write afterwards what it had read: that a task waits for an answer, and need not be checked for an hour.
func (c *cut) disconnect() {
	c.sweeping.Lock()
	defer c.sweeping.Unlock()
	c.off.Store(true)
}

func (c *cut) Of(ctx context.Context, owner mcp.Principal) ([]string, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	return c.Store.Of(ctx, owner)
}

// tool is one tool of the backend.
type tool struct {
	support    mcp.TaskSupport
	repeatable bool
	run        func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error)
}

// backend is the Dispatcher behind the stage, with tools only.
type backend struct {
	// decide implements PermitTask; nil allows every request.
	decide func(c *mcp.Call, task *mcp.TaskCall) (hidden bool, err error)
	// admit is what dispatch does before it calls the backend, such as a decision of a policy server; nil
	// does nothing.
	admit func(ctx context.Context, c *mcp.Call) error
	tools map[string]tool
	// ids are the received call_ids.
	ids sync.Map
	// cancelled receives the states of calls that were cancelled between two rounds.
	cancelled chan string
	// running is the number of current runs, most its maximum, and ran the number of all runs.
	running, most, ran atomic.Int64

	mu    sync.Mutex
	gates map[string]chan struct{}
}

var _ Dispatcher = (*backend)(nil)

// gate returns the channel on which runs of the tool gate with that name wait; close it to let them
// continue.
func (b *backend) gate(name string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gates[name] == nil {
		b.gates[name] = make(chan struct{})
	}
	return b.gates[name]
}

func serverInfo(*revision.Rules, string) json.RawMessage {
	return json.RawMessage(`{"name":"t","version":"1"}`)
}

func (b *backend) Call(ctx context.Context, rules *revision.Rules, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	t, ok := b.tools[c.Params.Target]
	if c.Method != mcp.MethodToolsCall || !ok {
		return mcp.Reply{}, mcp.Errorf(mcp.KindMethodNotFound, "no %s %s", c.Method, c.Params.Target)
	}
	if b.admit != nil {
		if err := b.admit(ctx, c); err != nil {
			return mcp.Reply{}, err
		}
	}
	n := b.running.Add(1)
	defer b.running.Add(-1)
	b.most.Store(max(b.most.Load(), n))
	b.ran.Add(1)
	b.ids.Store(c.ID, true)
	if bound, ok := sink.(mcp.Binder); ok {
		bound.Bind("b")
	}
	if (c.Round > 1 || c.Attempt > 1) && c.Backend != "b" { // Every later round and attempt must use the backend of the first.
		return mcp.Reply{}, mcp.Errorf(mcp.KindInternal, "round %d, attempt %d is of the backend %q", c.Round, c.Attempt, c.Backend)
	}
	reply, err := t.run(ctx, c, sink)
	if reply.Result != nil && rules.ResultType {
		reply.Result = append(json.RawMessage(`{"resultType":"complete",`), reply.Result[1:]...)
	}
	return reply, err
}

func (b *backend) Resolve(_ context.Context, _ *revision.Rules, c *mcp.Call) (*mcp.Target, error) {
	t, ok := b.tools[c.Params.Target]
	if c.Method != mcp.MethodToolsCall || !ok {
		return &mcp.Target{}, nil
	}
	return &mcp.Target{Backend: "b", Known: true, Tasks: t.support, Repeatable: t.repeatable}, nil
}
func (b *backend) Changes(context.Context, string, mcp.Principal, mcp.Filter) (mcp.Feed, error) {
	return quiet{}, nil
}
func (b *backend) PermitTask(_ context.Context, _ *revision.Rules, c *mcp.Call, task *mcp.TaskCall) (bool, error) {
	if b.decide == nil || task.Creator {
		return false, nil
	}
	return b.decide(c, task)
}

func (b *backend) CancelCall(_ context.Context, _ *revision.Rules, c *mcp.Call) error {
	b.cancelled <- string(c.State)
	return nil
}

// quiet is a feed without changes.
type quiet struct{}

func (quiet) Honoured() mcp.Filter { return mcp.Filter{} }
func (quiet) Next(ctx context.Context, idle time.Duration) ([]mcp.Change, error) {
	select {
	case <-time.After(idle):
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
func (quiet) Update(context.Context, mcp.Filter, bool) (mcp.Filter, error) { return mcp.Filter{}, nil }
func (quiet) SetPrincipal(context.Context, mcp.Principal) error            { return nil }
func (quiet) Close()                                                       {}

// result returns a tool's result with a text.
func result(text string) mcp.Reply {
	return mcp.Reply{Result: json.RawMessage(`{"content":[{"type":"text","text":"` + text + `"}]}`)}
}

// gated returns a tool that emits a status message and waits for the gate that its argument `name`
// names.
func (b *backend) gated(s mcp.TaskSupport, repeatable bool) tool {
	return tool{s, repeatable, func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
		name, _ := jsonString(c.Params.Arguments, "name")
		if err := sink.Emit(ctx, mcp.Event{Method: mcp.NotifyProgress, Progress: 1, Params: json.RawMessage(`{"progress":1,"message":"waiting for ` + name + `"}`)}); err != nil {
			return mcp.Reply{}, err
		}
		select {
		case <-b.gate(name):
			return result("passed " + name), nil
		case <-ctx.Done():
			return mcp.Reply{}, context.Cause(ctx)
		}
	}}
}

// asking returns a tool that asks for two names, one after the other, under one key.
func asking() tool {
	question := mcp.InputRequest{Key: "name", Method: mcp.MethodElicit, Params: json.RawMessage(`{"mode":"form","message":"Your name?"}`)}
	return tool{mcp.TaskSupport{Required: true, AtOnce: true}, false, func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
		said := string(c.State)
		for _, r := range c.Responses {
			text, _ := jsonString(r.Result, "name")
			said += text + " "
		}
		if strings.Count(said, " ") < 2 {
			return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{question}, State: []byte(said)}}, nil
		}
		return result("Hello, " + strings.TrimSpace(said)), nil
	}}
}

func jsonString(raw json.RawMessage, member string) (string, bool) {
	var m map[string]any
	_ = json.Unmarshal(raw, &m)
	s, ok := m[member].(string)
	return s, ok
}

var (
	modern = revision.Stateless()
	legacy = revision.Negotiate("2025-11-25")
	atOnce = mcp.TaskSupport{Optional: true, AtOnce: true}
	later  = mcp.TaskSupport{Optional: true}
)

// requestOf makes a call of a principal. params has no braces.
func requestOf(t *testing.T, rules *revision.Rules, who string, m mcp.Method, params string) *mcp.Call {
	t.Helper()
	c := &mcp.Call{ID: mcp.NewCallID(), Attempt: 1, Round: 1, Method: m, Principal: mcp.Principal{Subject: who, Issuer: "test"}}
	if err := c.Params.Parse(m, json.RawMessage("{"+params+"}"), nil); err != nil {
		t.Fatal(err)
	}
	caps := `{"elicitation":{}}`
	if rules.Stateless {
		caps = `{"elicitation":{},"extensions":{"` + mcp.ExtensionTasks + `":{}}}`
	}
	c.Client.Capabilities, _ = mcp.ParseCapabilities(json.RawMessage(caps))
	return c
}

// ask sends a request and decodes its response.
func (r *replica) ask(rules *revision.Rules, who string, m mcp.Method, params string) (map[string]any, error) {
	r.w.t.Helper()
	reply, err := r.Call(r.w.t.Context(), rules, requestOf(r.w.t, rules, who, m, params), nil)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(reply.Result, &out); err != nil {
		r.w.t.Fatalf("%v: %s", err, reply.Result)
	}
	return out, nil
}

func (r *replica) must(rules *revision.Rules, who string, m mcp.Method, params string) map[string]any {
	r.w.t.Helper()
	out, err := r.ask(rules, who, m, params)
	if err != nil {
		r.w.t.Fatalf("%s %s: %v", m, params, err)
	}
	return out
}

// begin makes a task of alice.
func (r *replica) begin(tool, name string) (id string) {
	r.w.t.Helper()
	out := r.must(modern, "alice", mcp.MethodToolsCall, `"name":"`+tool+`","arguments":{"name":"`+name+`"}`)
	id, _ = out["taskId"].(string)
	if out["resultType"] != "task" || id == "" {
		r.w.t.Fatalf("%s made no task: %v", tool, out)
	}
	return id
}

func about(id string) string { return `"taskId":"` + id + `"` }

func (r *replica) get(id string) map[string]any {
	r.w.t.Helper()
	return r.must(modern, "alice", mcp.MethodTasksGet, about(id))
}

// awaits waits until a task has a status, and returns the task. It fails the test if the task has
// ended with another one.
func (r *replica) awaits(id string, status Status) (out map[string]any) {
	r.w.t.Helper()
	await.Until(r.w.t, "the task to be "+string(status), func() bool {
		got, err := r.ask(modern, "alice", mcp.MethodTasksGet, about(id))
		out = got
		if s, _ := got["status"].(string); err == nil && s != string(status) && (s == string(Completed) || s == string(Failed) || s == string(Cancelled)) {
			r.w.t.Fatalf("the task is %v, want it to be %s", got, status)
		}
		return err == nil && got["status"] == string(status)
	})
	return out
}

// endsWithin waits until a task is completed, and reports whether that was seen within d of began.
func (r *replica) endsWithin(id string, began time.Time, d time.Duration) bool {
	r.w.t.Helper()
	await.Until(r.w.t, "the task to be completed", func() bool {
		got, err := r.ask(modern, "alice", mcp.MethodTasksGet, about(id))
		return err == nil && got["status"] == string(Completed) || time.Since(began) >= d
	})
	return time.Since(began) < d
}

// text returns the text of a task's result.
func text(task map[string]any) string {
	r, _ := task["result"].(map[string]any)
	content, _ := r["content"].([]any)
	if len(content) == 0 {
		return ""
	}
	block, _ := content[0].(map[string]any)
	s, _ := block["text"].(string)
	return s
}

// keys returns the keys of a task's questions.
func keys(task map[string]any) (out []string) {
	requests, _ := task["inputRequests"].(map[string]any)
	for k := range requests {
		out = append(out, k)
	}
	return out
}

func kindOf(err error) mcp.Kind {
	if err == nil {
		return mcp.KindNone
	}
	return mcp.AsError(err).Kind
}
