package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/metadata"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// strangersTo are the tokens of callers that are not the user alice of an issuer, by who they are.
func strangersTo(id, second *issuer.Issuer) map[string]string {
	return map[string]string{
		"bob": id.Token("bob", public), "alice of another issuer": second.Token("alice", public), "nobody": "",
		"a client alice":                 id.Token("", public, map[string]any{"sub": nil, "client_id": "alice"}),
		"a client alice that has a sub":  id.Token("alice", public, map[string]any{"client_id": "alice"}),
		"a client alice that has an azp": id.Token("", public, map[string]any{"sub": nil, "client_id": nil, "azp": "alice"}),
	}
}

// TestNoStranger: whoever comes with the id of somebody else's session, stream, question or state is answered like whoever
// comes with an id that never was, at every replica. Neither the same subject of another issuer, nor a client whose id is the subject, nor
// an anonymous caller is the same.
func TestNoStrangerWithTokens(t *testing.T) { noStranger(t, true) }

// TestNoStrangerWithOptionalSessions is the same where a message needs no session: without one it has nothing of any session.
func TestNoStrangerWithOptionalSessions(t *testing.T) { noStranger(t, false) }

func noStranger(t *testing.T, required bool) {
	id, second := issuer.Serve(t), issuer.Serve(t)
	f, edges, _ := startReplicas(t, 3, withAuth(id), func(c *config.Config) {
		c.Sessions.Required = required
		c.Auth.Issuers = append(c.Auth.Issuers, config.Issuer{Issuer: second.URL})
		c.Auth.Optional = true
	})
	alice := id.Token("alice", public)
	strangers := strangersTo(id, second)
	for _, version := range stateful {
		own := sessionAs(t, edges[0], version, alice)
		stream := own.callWithProgress("gate", `{"name":"mine `+version+`"}`, "p").events()
		<-f.started
		stream.awaitMethod("notifications/progress")
		gated := own.next.Load()
		asked := own.call("ask_model", "").events()
		ask := asked.awaitMethod("sampling/createMessage")
		for who, token := range strangers {
			for i, e := range edges {
				foreign, unknown := own.seenBy(e, token), own.seenBy(e, token)
				unknown.id = "NEVERWASNEVERWASNEVERWASNE"
				check := func(what string, do func(s *session) *reply) {
					t.Helper()
					got, want := do(foreign), do(unknown)
					what = fmt.Sprintf("%s %s of %s at replica %d", version, what, who, i)
					if want.status != http.StatusNotFound {
						t.Errorf("%s: an unknown session gets %d", what, want.status)
					}
					same(t, what, got, want)
				}
				for method, params := range everyMethod {
					check(method, func(s *session) *reply { return s.post(envelope("77", method, params)) })
				}
				for _, method := range []string{"notifications/initialized", "notifications/roots/list_changed", "no/such"} {
					check(method, func(s *session) *reply { return s.post(envelope("", method, "")) })
				}
				check("GET", func(s *session) *reply { return s.get("") })
				check("resuming", func(s *session) *reply { return s.get(stream.lastID) })
				check("DELETE", func(s *session) *reply { return s.delete() })
				check("cancelling", func(s *session) *reply {
					return s.post(envelope("", "notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, gated)))
				})
				check("answering", func(s *session) *reply {
					return s.post(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"result":` + answers["sampling/createMessage"] + `}`)
				})
				check("answering with an error", func(s *session) *reply {
					return s.post(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"error":{"code":-1,"message":"no"}}`)
				})
				if version == vMar {
					check("batch", func(s *session) *reply { return s.post(`[` + envelope("79", "ping", "") + `]`) })
				}
				alone := own.seenBy(e, token)
				alone.id = ""
				for method, params := range everyMethod {
					rendered(alone.post(envelope("77", method, params)))
				}
				alone.post(envelope("", "notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, gated)))
				alone.post(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"result":` + answers["sampling/createMessage"] + `}`).want(http.StatusBadRequest)
				// In a session of one's own somebody else's stream is as unknown, and its name in the place of a connection's.
				mine := sessionAs(t, e, version, token)
				invented := strings.Map(func(r rune) rune {
					if r >= 'A' && r <= 'Y' || r >= 'a' && r <= 'y' || r >= '0' && r <= '8' {
						return r + 1
					}
					return r
				}, stream.lastID)
				same(t, version+" resuming in a session of one's own", mine.get(stream.lastID), mine.get(invented), stream.lastID, invented)
				mine.delete().want(http.StatusNoContent)
			}
		}
		// Nothing has happened to it, and its own answer finds the question.
		own.seenBy(edges[2], alice).answer(ask, answers["sampling/createMessage"])
		if got := text(t, asked.message().result(t)); got != "The model said word" {
			t.Errorf("%s: got %q", version, got)
		}
		close(f.gate("mine " + version))
		<-f.ended
		stream.awaitMethod("notifications/progress")
		if got := text(t, stream.message().result(t)); got != "passed mine "+version {
			t.Errorf("%s: got %q", version, got)
		}
	}

	// A state that was sealed for one caller opens for no other.
	own := statelessAs(t, edges[0], alice)
	asks := own.call("ask_model", "").result()
	more := retry(t, asks, "")
	for who, token := range strangers {
		for _, e := range edges {
			foreign := statelessAs(t, e, token).call("ask_model", "", more)
			garbled := statelessAs(t, e, token).call("ask_model", "", map[string]any{"requestState": strings.Repeat("A", 80)})
			if foreign.status != 400 {
				t.Errorf("the state of alice, from %s: %d %s", who, foreign.status, foreign.body)
			}
			same(t, "the state of alice, from "+who, foreign, garbled)
		}
	}
	if got := statelessAs(t, edges[2], alice).call("ask_model", "", more).result(); got["resultType"] != "input_required" {
		t.Errorf("her own state at another replica: %v", got)
	}
}

// everyMethod are the requests of a session, with params.
var everyMethod = map[string]string{
	"ping": "", "tools/list": "", "resources/list": "", "prompts/list": "", "resources/templates/list": "",
	"logging/setLevel": `{"level":"debug"}`, "resources/subscribe": `{"uri":"test://note"}`, "resources/unsubscribe": `{"uri":"test://note"}`,
	"resources/read": `{"uri":"test://note"}`, "prompts/get": `{"name":"greet","arguments":{"name":"x"}}`,
	"completion/complete": `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}}`,
	"tools/call":          `{"name":"add","arguments":{"a":1,"b":2}}`,
	"tasks/list":          "", "tasks/get": `{"taskId":"x"}`, "tasks/result": `{"taskId":"x"}`, "tasks/cancel": `{"taskId":"x"}`,
	"no/such": "",
}

// TestNoStrangerOverSSE: a message to the connection of somebody else is answered like one to a connection that never
// was, at the replica that has it and at the others, whatever it is. So is a connection's name in the place of a session's, and a session's
// in that of a connection's, also for whom they belong to.
func TestNoStrangerOverSSE(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, second := issuer.Serve(t), issuer.Serve(t)
	_, edges, _ := startReplicas(t, 3, withAuth(id), func(c *config.Config) {
		c.Auth.Issuers = append(c.Auth.Issuers, config.Issuer{Issuer: second.URL})
		c.Auth.Optional = true
	})
	alice := id.Token("alice", public)
	strangers := strangersTo(id, second)
	stream := at(t, edges[0], "/sse", alice).send(t, "GET", "").want(200).events()
	ev, _ := stream.next()
	path, name, _ := strings.Cut(ev.Data, "sessionId=")
	hello := envelope("1", "initialize", `{"protocolVersion":"2024-11-05","capabilities":{"sampling":{}},"clientInfo":`+clientInfo+`}`)
	own := at(t, edges[1], ev.Data, alice)
	own.send(t, "POST", hello).want(202)
	if m := stream.response(); string(m.ID) != "1" {
		t.Fatalf("got %s", m.raw)
	}
	own.send(t, "POST", envelope("", "notifications/initialized", "")).want(202)
	own.send(t, "POST", envelope("2", "tools/call", `{"name":"ask_model","arguments":{}}`)).want(202)

	bodies := map[string]string{
		"a greeting": hello, "a notification": envelope("", "notifications/roots/list_changed", ""),
		"a cancellation": envelope("", "notifications/cancelled", `{"requestId":2}`), "an answer": `{"jsonrpc":"2.0","id":2,"result":{}}`,
		"a batch": "[" + envelope("3", "ping", "") + "]", "what is not a message": `{"jsonrpc"`, "nothing": "",
	}
	for method, params := range everyMethod {
		bodies[method] = envelope("77", method, params)
	}
	unknown := strings.Repeat("N", len(name))
	for who, token := range strangers {
		for i, e := range edges {
			for what, body := range bodies {
				foreign, never := at(t, e, ev.Data, token).send(t, "POST", body), at(t, e, path+"sessionId="+unknown, token).send(t, "POST", body)
				what = fmt.Sprintf("%s to the connection of alice, from %s by replica %d", what, who, i)
				if never.status != http.StatusNotFound && never.status != http.StatusBadRequest {
					t.Errorf("%s: an unknown one gets %d", what, never.status)
				}
				same(t, what, foreign, never, name, unknown)
			}
		}
	}
	s := sessionAs(t, edges[0], vNov, alice)
	for i, e := range edges {
		for who, token := range map[string]string{"alice": alice, "bob": strangers["bob"]} {
			other := s.seenBy(e, token)
			other.id = name
			never := s.seenBy(e, token)
			never.id = unknown
			same(t, fmt.Sprint("a connection for a session, from ", who, " by replica ", i), other.post(bodies["ping"]), never.post(bodies["ping"]).want(404))
			same(t, fmt.Sprint("a session for a connection, from ", who, " by replica ", i),
				at(t, e, path+"sessionId="+s.id, token).send(t, "POST", bodies["ping"]), at(t, e, path+"sessionId="+unknown, token).send(t, "POST", bodies["ping"]).want(404))
		}
	}

	// Nothing of it came to the connection: neither a response nor a change.
	ask := stream.message()
	if ask.Method != "sampling/createMessage" {
		t.Fatalf("got %s", ask.raw)
	}
	own.url = "http://" + edges[2].Host + ev.Data
	own.send(t, "POST", `{"jsonrpc":"2.0","id":`+string(ask.ID)+`,"result":`+answers["sampling/createMessage"]+`}`).want(202)
	if m := stream.response(); string(m.ID) != "2" || text(t, m.result(t)) != "The model said word" {
		t.Errorf("got %s", m.raw)
	}
}

// TestNoStrangerAtTasks: the task of somebody else is answered like one that never was, at every replica, whatever is asked about it and in
// either era; it is in no list, nobody else is told of it, and nothing happens to it.
func TestNoStrangerAtTasks(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, second := issuer.Serve(t), issuer.Serve(t)
	server := redisserver.ForTest(t)
	_, backends, steps := stepping(t)
	edges := make([]*harness.Edge, 3)
	for i := range edges {
		edges[i] = startEdge(t, backends, withAuth(id), func(c *config.Config) {
			c.Redis.URL, c.Auth.Optional = server.URL(), true
			c.Auth.Issuers = append(c.Auth.Issuers, config.Issuer{Issuer: second.URL})
		})
	}
	alice := id.Token("alice", public)
	own := sessionAs(t, edges[0], vNov, alice)
	begin := func() string {
		made, _ := dig(own.request("tools/call", `{"name":"steps","arguments":{},"task":{}}`).result(), "task", "taskId").(string)
		if made == "" {
			t.Fatal("there is no task")
		}
		return made
	}
	task, never := begin(), strings.Repeat("N", 26)
	steps <- struct{}{}
	for who, token := range strangersTo(id, second) {
		for i, e := range edges {
			s := sessionAs(t, e, vNov, token)
			c := statelessAs(t, e, token)
			c.capabilities = withTasks
			check := func(what string, do func(id string) *reply) {
				t.Helper()
				foreign, unknown := do(task), do(never)
				if !strings.Contains(string(unknown.body), `"error"`) {
					t.Errorf("%s of an unknown task: %s", what, unknown.body)
				}
				withoutID := regexp.MustCompile(`"id":\d+`).ReplaceAll
				foreign.body, unknown.body = withoutID(foreign.body, nil), withoutID(unknown.body, nil)
				same(t, fmt.Sprintf("%s of alice's task, from %s by replica %d", what, who, i), foreign, unknown, task, never)
			}
			for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
				check(vNov+" "+method, func(id string) *reply { return s.request(method, `{"taskId":"`+id+`"}`) })
			}
			for method, more := range map[string]map[string]any{
				"tasks/get": {}, "tasks/cancel": {}, "tasks/update": {"inputResponses": map[string]any{"x": map[string]any{}}},
			} {
				check(v2026+" "+method, func(id string) *reply {
					return c.request(method, map[string]any{"taskId": id, "inputResponses": more["inputResponses"]})
				})
			}
			if list := s.request("tasks/list", ""); strings.Contains(string(list.body), task) {
				t.Errorf("%s: alice's task is in the list of %s", list.body, who)
			}
			listens := c.request("subscriptions/listen", map[string]any{"notifications": map[string]any{"taskIds": []string{task, never}}}).events()
			if ack := listens.message(); strings.Contains(string(ack.raw), task) || strings.Contains(string(ack.raw), never) {
				t.Errorf("%s listens to %s", who, ack.raw)
			}
			defer func() {
				listens.close()
				for ev := range listens.events {
					if strings.Contains(ev.Data, task) {
						t.Errorf("%s is told %s", who, ev.Data)
					}
				}
			}()
		}
	}
	if got := own.seenBy(edges[2], alice).request("tasks/get", `{"taskId":"`+task+`"}`).result(); got["status"] != "working" || got["statusMessage"] != "step 1" {
		t.Errorf("the task is %v", got)
	}
	close(steps)
	if got := text(t, own.seenBy(edges[1], alice).request("tasks/result", `{"taskId":"`+task+`"}`).result()); got != "done" {
		t.Errorf("it gave %q", got)
	}
}

// TestNoTokenAnywhere: after calls of every kind no part of a token is in Redis, in the log, in spans, in the audit, on the page of the
// last calls, in errors or in what backends were sent.
func TestNoTokenAnywhere(t *testing.T) {
	id := issuer.Serve(t)
	var mu sync.Mutex
	var exported bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		mu.Lock()
		exported.Write(raw)
		mu.Unlock()
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	records := t.TempDir()
	f, edges, server := startReplicas(t, 2, withAuth(id), func(c *config.Config) {
		c.Telemetry.TraceContent, c.Log.Level, c.Admin.Dev = true, "debug", true
		file, err := os.CreateTemp(records, "audit")
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		c.Audit = &config.Audit{File: file.Name(), Arguments: "whole"}
	})
	token := id.Token("alice", public)
	s := sessionAs(t, edges[0], vNov, token)
	stream := s.callWithProgress("gate", `{"name":"searched"}`, "p").events()
	<-f.started
	asked := s.call("ask_model", "").events()
	s.seenBy(edges[1], token).answer(asked.awaitMethod("sampling/createMessage"), answers["sampling/createMessage"])
	asked.message().result(t)
	c := statelessAs(t, edges[1], token)
	asks := c.call("ask_model", "").result()
	sent := make(chan string, 1)
	capability.AddTool(f.Server, "metadata", "Notes what it is sent",
		func(ctx context.Context, c *capability.Call, _ struct{}) (string, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			sent <- fmt.Sprint(md, c.Principal(), string(c.Meta()))
			return "", nil
		})
	await.Until(t, "the tool is listed", func() bool { return !strings.Contains(string(c.call("metadata", "").body), `"error"`) })
	found := map[string]string{"a request state": fmt.Sprint(asks["requestState"])}
	wrong := statelessAs(t, edges[0], token[:len(token)-5]+"AAAAA")
	wrong.call("add", `{"a":1,"b":2}`).want(401)
	found["what a backend is sent"] = await.Receive(t, "what it is sent", sent)
	found["a refusal"] = fmt.Sprint(string(wrong.call("add", `{"a":1,"b":2}`).body))
	await.Until(t, "spans are exported", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return bytes.Contains(exported.Bytes(), []byte("ask_model"))
	})
	mu.Lock()
	found["spans"] = exported.String()
	mu.Unlock()
	for i, e := range edges {
		found[fmt.Sprint("the log of replica ", i)] = e.Log.String()
		for _, path := range []string{"/metrics", "/v1/status", "/v1/backends", "/v1/sessions", "/v1/sessions/" + s.id, "/v1/tasks"} {
			found[fmt.Sprint(path, " of replica ", i)] = string(newCaller(t, "http://"+e.Admin+path).send(t, "GET", "").body)
		}
	}
	shown := 0
	for i, e := range edges {
		calls := newCaller(t, "http://"+e.Admin+"/dev/calls").send(t, "GET", "").want(http.StatusOK)
		found[fmt.Sprint("the calls shown by replica ", i)] = string(calls.body)
		list, _ := object(t, calls.body)["calls"].([]any)
		for _, one := range list {
			id, _ := dig(one, "id").(string)
			shown++
			found["the call "+id] = string(newCaller(t, "http://"+e.Admin+"/dev/calls/"+id).send(t, "GET", "").want(http.StatusOK).body)
		}
	}
	if shown < 4 {
		t.Errorf("%d calls are shown", shown)
	}
	audits, err := filepath.Glob(filepath.Join(records, "*"))
	if err != nil || len(audits) != len(edges) {
		t.Fatal(audits, err)
	}
	for _, name := range audits {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(name)] = string(raw)
	}
	found["redis"] = dump(t, server.Addr)
	close(f.gate("searched"))
	stream.response().result(t)
	parts := strings.Split(token, ".")
	for where, text := range found {
		if text == "" {
			t.Errorf("%s is empty", where)
		}
		for _, part := range []string{parts[1][:40], parts[2][:40], "Bearer"} {
			if strings.Contains(text, part) && !(where == "a refusal" && part == "Bearer") {
				t.Errorf("%s has %.10s… of the token", where, part)
			}
		}
	}
}

// dump is everything that a Redis has.
func dump(t *testing.T, address string) string {
	t.Helper()
	ctx := t.Context()
	client := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = client.Close() }()
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("%d keys in Redis, %v", len(keys), err)
	}
	var all []string
	for _, key := range keys {
		var v any
		var err error
		switch kind := client.Type(ctx, key).Val(); kind {
		case "string":
			v, err = client.Get(ctx, key).Result()
		case "hash":
			v, err = client.HGetAll(ctx, key).Result()
		case "zset":
			v, err = client.ZRange(ctx, key, 0, -1).Result()
		case "set":
			v, err = client.SMembers(ctx, key).Result()
		case "list":
			v, err = client.LRange(ctx, key, 0, -1).Result()
		case "stream":
			v, err = client.XRange(ctx, key, "-", "+").Result()
		case "none": // it has ended
		default:
			t.Fatalf("%s is of type %q, which is not searched", key, kind)
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		all = append(all, key, fmt.Sprint(v))
	}
	return strings.Join(all, "\n")
}
