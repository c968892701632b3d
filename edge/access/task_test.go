package access

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// sink keeps records.
type sink struct {
	mu   sync.Mutex
	kept []audit.Record
}

func (s *sink) Write(_ context.Context, records []audit.Record) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, records...)
	return len(records), nil
}

func (s *sink) Close(context.Context) error { return nil }

// Requests about a task query the policy server once for each token, with a call of the tool and the
// stored arguments. Requests that the task's creator may always make do not query it. Each decision
// is recorded with its caller.
func TestTaskIsAskedAboutOnce(t *testing.T) {
	server := authorizer.Serve(t)
	client, err := external.New(external.Options{Target: server.Addr, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	kept := &sink{}
	records := audit.New(audit.Options{Sinks: map[string]audit.Sink{"kept": kept}, Required: true, Timeout: time.Minute})
	c := governed(t, Options{External: client, Records: records}, policy.Settings{Default: policy.Allow})
	read := 0
	task := mcp.TaskCall{ID: "task-1", Tool: "t", Arguments: func() (json.RawMessage, error) {
		read++
		return json.RawMessage(`{"region":"eu"}`), nil
	}}
	decide := func(m mcp.Method, token, by string, task mcp.TaskCall) error {
		call := &mcp.Call{ID: "c", Attempt: 1, Method: m, Principal: mcp.Principal{Subject: "ada", Issuer: "i", Client: by}}
		call.Params.Target = task.ID
		return c.InForce().DecideTask(mcp.WithToken(t.Context(), mcp.NewToken(token)), revision.Stateless(), call, &task, &tool, none)
	}
	for range 3 {
		for _, m := range []mcp.Method{mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksUpdate} {
			if err := decide(m, "one", "console", task); err != nil {
				t.Error(err)
			}
		}
	}
	asked := server.Asked()
	if len(asked) != 1 || read != 1 {
		t.Fatalf("the server was asked %d times, and the arguments were read %d times; want once", len(asked), read)
	}
	said := asked[0].GetAttributes().GetMetadataContext().GetFilterMetadata()[external.Namespace].GetFields()
	params := said["params"].GetStructValue().GetFields()
	if said["method"].GetStringValue() != "tools/call" || params["name"].GetStringValue() != "t" ||
		params["arguments"].GetStructValue().GetFields()["region"].GetStringValue() != "eu" {
		t.Errorf("it was asked about %v", said)
	}
	server.SetDecide(authorizer.Deny("not any more"))
	if err := decide(mcp.MethodTasksGet, "one", "console", task); err != nil {
		t.Errorf("the same token: %v", err)
	}
	for range 2 {
		if err := decide(mcp.MethodTasksGet, "two", "other", task); mcp.AsError(err).Kind != mcp.KindForbidden || !strings.Contains(err.Error(), "not any more") {
			t.Errorf("another token: %v", err)
		}
	}
	own := task
	own.Creator = true
	if err := decide(mcp.MethodTasksCancel, "three", "console", own); err != nil {
		t.Error(err)
	}
	if n := len(server.Asked()); n != 1 { // since it denies
		t.Errorf("the server was asked %d times since it denies, want once", n)
	}
	if err := records.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(kept.kept) != 13 {
		t.Fatalf("%d records, want 13", len(kept.kept))
	}
	for i, want := range map[int]audit.Record{
		0:  {Who: audit.Who{Issuer: "i", Subject: "ada", Client: "console"}, Method: "tasks/get", Verdict: audit.Verdict{Effect: audit.Allow, By: audit.ByExternal, Rule: "allowed"}},
		11: {Who: audit.Who{Issuer: "i", Subject: "ada", Client: "other"}, Method: "tasks/get", Verdict: audit.Verdict{Effect: audit.Deny, By: audit.ByExternal, Rule: "denied"}},
		12: {Who: audit.Who{Issuer: "i", Subject: "ada", Client: "console"}, Method: "tasks/cancel", Verdict: audit.Verdict{Effect: audit.Allow, By: audit.ByOwnership}},
	} {
		got := kept.kept[i]
		if got.Who != want.Who || got.Method != want.Method || got.Verdict.Effect != want.Verdict.Effect || got.Verdict.By != want.Verdict.By ||
			got.Target != "t" || got.Task != telemetry.SessionPrint("task-1") {
			t.Errorf("record %d is %+v, want %+v", i, got, want)
		}
	}
}

// A failure to ask the policy server is not cached, and an answer under another policy is not used.
func TestTaskIsAskedAboutAgain(t *testing.T) {
	server := authorizer.Serve(t)
	client, err := external.New(external.Options{Target: server.Addr, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c := governed(t, Options{External: client}, policy.Settings{Default: policy.Allow})
	task := mcp.TaskCall{ID: "task-1", Tool: "t"}
	decide := func() error {
		return c.InForce().DecideTask(t.Context(), revision.Stateless(), &mcp.Call{Attempt: 1, Method: mcp.MethodTasksGet}, &task, &tool, none)
	}
	if err := decide(); err != nil {
		t.Error(err)
	}
	c.SetPolicy(c.Policy(), client)
	if err := decide(); err != nil || len(server.Asked()) != 2 {
		t.Errorf("%v, and %d questions", err, len(server.Asked()))
	}
	hides, err := policy.Compile(policy.Settings{Default: policy.Hide})
	if err != nil {
		t.Fatal(err)
	}
	c.SetPolicy(hides, client)
	if err := decide(); !errors.Is(err, policy.ErrHidden) {
		t.Error(err)
	}
}

// If task.Ask refuses the query, the policy server is not queried, and no answer is cached. A cached
// answer is still used.
func TestTaskQuestionsAreBounded(t *testing.T) {
	server := authorizer.Serve(t)
	client, err := external.New(external.Options{Target: server.Addr, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c := governed(t, Options{External: client}, policy.Settings{Default: policy.Allow})
	spent := errors.New("spent")
	decide := func(ask func() error) error {
		task := mcp.TaskCall{ID: "task-1", Tool: "t", Unrecorded: true, Ask: ask}
		return c.InForce().DecideTask(t.Context(), revision.Stateless(), &mcp.Call{Attempt: 1, Method: mcp.MethodTasksList}, &task, &tool, none)
	}
	refuse := func() error { return spent }
	if err := decide(refuse); !errors.Is(err, spent) || len(server.Asked()) != 0 {
		t.Errorf("a refused question: %v, and %d are asked", err, len(server.Asked()))
	}
	if err := decide(func() error { return nil }); err != nil || len(server.Asked()) != 1 {
		t.Errorf("an allowed question: %v, and %d are asked", err, len(server.Asked()))
	}
	if err := decide(refuse); err != nil {
		t.Errorf("what is known: %v", err)
	}
}

// A request that waits for another request's question about the same task stops waiting when its
// own context ends.
func TestTaskIsNotWaitedForBeyondItsRequest(t *testing.T) {
	server := authorizer.Serve(t)
	client, err := external.New(external.Options{Target: server.Addr, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	asked, answer := make(chan struct{}), make(chan struct{})
	server.SetDecide(func(ctx context.Context, req *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		close(asked)
		<-answer
		return authorizer.Allow(ctx, req)
	})
	c := governed(t, Options{External: client}, policy.Settings{Default: policy.Allow})
	task := mcp.TaskCall{ID: "task-1", Tool: "t"}
	decide := func(ctx context.Context) error {
		return c.InForce().DecideTask(ctx, revision.Stateless(), &mcp.Call{Attempt: 1, Method: mcp.MethodTasksGet}, &task, &tool, none)
	}
	first := make(chan error, 1)
	go func() { first <- decide(t.Context()) }()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { second <- decide(ctx) }()
	cancel()
	select {
	case err := <-second:
		if mcp.AsError(err).Kind != mcp.KindCancelled {
			t.Errorf("the request that ended: %v", err)
		}
	case <-time.After(await.Patience):
		t.Error("a request that has ended waits for the policy server")
	}
	close(answer)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
