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
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/metadata"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/await"
	"github.com/mcpedge/mcpedge/tests/issuer"
)

// TestNoStranger: whoever comes with the id of somebody else's session, stream, question or state is answered like whoever
// comes with an id that never was, at every replica. Neither the same subject of another issuer nor an anonymous caller is
// the same.
func TestNoStrangerWithTokens(t *testing.T) {
	id, second := issuer.Serve(t), issuer.Serve(t)
	f, edges, _ := startReplicas(t, 3, withAuth(id), func(c *config.Config) {
		c.Auth.Issuers = append(c.Auth.Issuers, config.Issuer{Issuer: second.URL})
		c.Auth.Optional = true
	})
	alice := id.Token("alice", public)
	strangers := map[string]string{"bob": id.Token("bob", public), "alice of another issuer": second.Token("alice", public)}
	for _, version := range stateful {
		own := sessionAs(t, edges[0], version, alice)
		stream := own.callWithProgress("gate", `{"name":"mine `+version+`"}`, "p").events()
		<-f.started
		stream.awaitMethod("notifications/progress")
		gated := own.next.Load()
		asked := own.call("ask_model", "").events()
		ask := asked.awaitMethod("sampling/createMessage")
		n := 0
		for who, token := range strangers {
			n++
			foreign := own.seenBy(edges[n%3], token)
			unknown := own.seenBy(edges[n%3], token)
			unknown.id = "NEVERWASNEVERWASNEVERWASNE"
			check := func(what string, do func(s *session) *reply) {
				t.Helper()
				got, want := do(foreign), do(unknown)
				if want.status != http.StatusNotFound {
					t.Errorf("%s %s of %s: an unknown session gets %d", version, what, who, want.status)
				}
				same(t, version+" "+what+" of "+who, got, want)
			}
			for _, method := range []string{"ping", "tools/list", "resources/list", "prompts/list", "resources/templates/list", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "no/such"} {
				check(method, func(s *session) *reply {
					return s.post(envelope("77", method, `{"level":"debug","uri":"test://note"}`))
				})
			}
			check("a call", func(s *session) *reply {
				return s.post(envelope("78", "tools/call", toolParams("add", `{"a":1,"b":2}`, "")))
			})
			check("GET", func(s *session) *reply { return s.get("") })
			check("resuming", func(s *session) *reply { return s.get(stream.lastID) })
			check("DELETE", func(s *session) *reply { return s.delete() })
			check("cancelling", func(s *session) *reply {
				return s.post(envelope("", "notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, gated)))
			})
			check("answering", func(s *session) *reply {
				return s.post(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"result":` + answers["sampling/createMessage"] + `}`)
			})
			if version == vMar {
				check("batch", func(s *session) *reply { return s.post(`[` + envelope("79", "ping", "") + `]`) })
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
		foreign := statelessAs(t, edges[1], token).call("ask_model", "", more)
		garbled := statelessAs(t, edges[1], token).call("ask_model", "", map[string]any{"requestState": strings.Repeat("A", 80)})
		if foreign.status != 400 {
			t.Errorf("the state of alice, from %s: %d %s", who, foreign.status, foreign.body)
		}
		same(t, "the state of alice, from "+who, foreign, garbled)
	}
	if got := statelessAs(t, edges[2], alice).call("ask_model", "", more).result(); got["resultType"] != "input_required" {
		t.Errorf("her own state at another replica: %v", got)
	}
}

// TestNoStrangerOverSSE: a message to the connection of somebody else is answered like one to a connection that never
// was, at the replica that has it and at the others.
func TestNoStrangerOverSSE(t *testing.T) {
	id := issuer.Serve(t)
	_, edges, _ := startReplicas(t, 2, withAuth(id))
	c := newCaller(t, "http://"+edges[0].Host+"/sse")
	c.as(id.Token("alice", public))
	stream := c.send(t, "GET", "").want(200).events()
	ev, _ := stream.next()
	at := ev.Data
	_, name, _ := strings.Cut(at, "sessionId=")
	hello := envelope("1", "initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":`+clientInfo+`}`)
	for _, e := range edges {
		bob := newCaller(t, "http://"+e.Host+at)
		bob.as(id.Token("bob", public))
		foreign := bob.send(t, "POST", hello)
		bob.url = "http://" + e.Host + strings.Replace(at, name[:8], "NEVERWAS", 1)
		unknown := bob.send(t, "POST", hello).want(404)
		same(t, "the connection of alice, from bob", foreign, unknown)
	}
	own := newCaller(t, "http://"+edges[1].Host+at)
	own.as(id.Token("alice", public))
	own.send(t, "POST", hello).want(202)
	if m := stream.message(); string(m.ID) != "1" {
		t.Errorf("got %s", m.raw)
	}
}

// TestNoTokenAnywhere: after calls of every kind no part of a token is in Redis, in the log, in spans or in what backends
// and issuers were sent.
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
		c.TraceContent, c.Log.Level = true, "debug"
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
