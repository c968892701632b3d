package e2e

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// mark begins every text that is searched in Redis.
const mark = "zq7-"

// marks are the texts of talker's callers and of talker, each followed by a point.
var marks = []string{
	"argument", "progress", "log", "state", "question", "answer", "result", "error", "response", "resource", "claim", "subject", "client", "capability", "tool",
}

// stateKey is a key of redis.seal-keys.
func stateKey(b byte) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune(b)), 32)))
}

// withKeys sets redis.seal-keys.
func withKeys(keys ...string) func(*config.Config) {
	return func(c *config.Config) { c.Redis.SealKeys = keys }
}

// talker is a backend that sends a mark in everything that a backend can send. gate is what its calls wait for after the answer.
func talker(gate chan struct{}) *capability.Server {
	s := capability.New("talker", "1")
	type in struct {
		Text string `json:"text"`
	}
	talk := func(ctx context.Context, c *capability.Call, asked string) error {
		c.Progress(1, 3, mark+"progress.")
		c.Log(capability.LevelError, "talker", mark+"log.")
		c.SetState([]byte(mark + "state."))
		p, err := capability.Ask[person](c, "name", asked)
		if err != nil {
			return err
		}
		c.Progress(2, 3, mark+"progress."+p.Name)
		if err := c.Checkpoint([]byte(mark + "state.")); err != nil {
			return err
		}
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	capability.AddTool(s, "talk", "Talks", func(ctx context.Context, c *capability.Call, _ in) (string, error) {
		return mark + "result.", talk(ctx, c, mark+"question.")
	}, capability.Tasks(capability.TaskOptional))
	capability.AddTool(s, mark+"tool.", "Fails", func(ctx context.Context, c *capability.Call, _ in) (string, error) {
		return "", cmp.Or(talk(ctx, c, "Your name?"), errors.New(mark+"error."))
	})
	capability.AddTool(s, "model", "Asks the model", func(_ context.Context, c *capability.Call, _ in) (string, error) {
		c.Progress(1, 2, "begins")
		r := c.Sample("word", &capability.SamplingRequest{Messages: []*capability.SamplingMessage{capability.SamplingText(capability.User, "?")}, MaxTokens: 9})
		return r.GetContent()[0].GetText().GetText(), nil
	})
	capability.AddResource(s, &capability.Resource{Uri: "test://" + mark + "resource.", Name: "r", MimeType: "text/plain"},
		func(context.Context, *capability.Call, string) (string, error) { return "", nil })
	return s
}

// inRedis returns the marks that anything in Redis has, with the key of the first.
func inRedis(t *testing.T, c *goredis.Client) map[string]string {
	t.Helper()
	ctx, out := t.Context(), map[string]string{}
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		texts := []string{key}
		switch kind := c.Type(ctx, key).Val(); kind {
		case "string":
			texts = append(texts, c.Get(ctx, key).Val())
		case "hash":
			for name, value := range c.HGetAll(ctx, key).Val() {
				texts = append(texts, name, value)
			}
		case "list":
			texts = append(texts, c.LRange(ctx, key, 0, -1).Val()...)
		case "set":
			texts = append(texts, c.SMembers(ctx, key).Val()...)
		case "zset":
			texts = append(texts, c.ZRange(ctx, key, 0, -1).Val()...)
		case "stream":
			for _, m := range c.XRange(ctx, key, "-", "+").Val() {
				texts = append(texts, fmt.Sprint(m.Values))
			}
		case "none": // It has expired.
		default:
			t.Fatalf("%s is of the unknown type %s", key, kind)
		}
		for _, text := range texts {
			for _, m := range marks {
				if strings.Contains(text, mark+m+".") {
					out[m] = key
				}
			}
		}
	}
	return out
}

// TestRedisHoldsNoPlaintext: with redis.seal-keys nothing that callers, backends and users wrote is in Redis while calls wait, while they run
// and after they have ended, and everything works as without, on two replicas. Without the keys everything is there.
func TestRedisHoldsNoPlaintext(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for name, adjust := range map[string]func(*config.Config){"with keys": withKeys(stateKey('a'), stateKey('b')), "without": withKeys()} {
		t.Run(name, func(t *testing.T) {
			server, id, gate := redisserver.ForTest(t), issuer.Serve(t), make(chan struct{})
			backends := only(startService(t, talker(gate)))
			var edges [2]*harness.Edge
			for i := range edges {
				edges[i] = startEdge(t, backends, withAuth(id), adjust, quickStreams, func(c *config.Config) {
					c.Redis.URL = server.URL()
					c.Policy = &config.Policy{Default: "deny", Rules: []config.PolicyRule{{Name: "all", When: `principal.claims.region != ""`, Then: "allow"}}}
				})
			}
			db := goredis.NewClient(&goredis.Options{Addr: server.Addr})
			t.Cleanup(func() { _ = db.Close() })
			found := map[string]string{}
			scan := func() { maps.Copy(found, inRedis(t, db)) }

			token := id.Token(mark+"subject.", public, map[string]any{"region": mark + "claim."})
			s := sessionAs(t, edges[0], vNov, token)
			s.send(t, http.MethodPost, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"`+vNov+`","capabilities":{"experimental":{"`+mark+`capability.":{}}},`+
				`"clientInfo":{"name":"`+mark+`client.","version":"1"}}}`).want(http.StatusOK)
			s.request("resources/subscribe", `{"uri":"test://`+mark+`resource."}`).want(http.StatusOK)
			s.request("logging/setLevel", `{"level":"debug"}`).want(http.StatusOK)
			listens := s.seenBy(edges[1], token).get("").want(http.StatusOK).events()
			arguments, told := `{"text":"`+mark+`argument."}`, `{"action":"accept","content":{"name":"`+mark+`answer."}}`

			good, bad := s.callWithProgress("talk", arguments, "p1").events(), s.callWithProgress(mark+"tool.", arguments, "p2").events()
			good.awaitMethod("notifications/progress")
			questions := []message{good.awaitMethod("elicitation/create"), bad.awaitMethod("elicitation/create")}
			model := s.callWithProgress("model", arguments, "p3").events()
			sampling := model.awaitMethod("sampling/createMessage")
			task, _ := dig(s.request("tools/call", `{"name":"talk","arguments":`+arguments+`,"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
			await.Until(t, "the task asks", func() bool {
				return s.request("tasks/get", `{"taskId":"`+task+`"}`).result()["status"] == "input_required"
			})
			scan()
			other := s.seenBy(edges[1], token)
			for _, q := range questions {
				other.answer(q, told)
			}
			other.answer(sampling, `{"role":"assistant","model":"m","content":{"type":"text","text":"`+mark+`response."}}`)
			asks := other.request("tasks/result", `{"taskId":"`+task+`"}`).want(http.StatusOK).events()
			other.answer(asks.awaitMethod("elicitation/create"), told)
			await.Until(t, "the task runs", func() bool {
				text, _ := s.request("tasks/get", `{"taskId":"`+task+`"}`).result()["statusMessage"].(string)
				return strings.Contains(text, mark+"progress."+mark+"answer.")
			})
			good.awaitMethod("notifications/progress")
			scan()
			close(gate)
			for _, x := range []struct {
				stream *stream
				want   string
			}{{good, mark + "result."}, {bad, mark + "error."}, {model, mark + "response."}, {asks, mark + "result."}} {
				if m := x.stream.response(); !strings.Contains(string(m.raw), x.want) {
					t.Errorf("the call ended with %s, want %s in it", m.raw, x.want)
				}
			}
			listens.close()
			scan()
			if got := other.request("tasks/get", `{"taskId":"`+task+`"}`).result(); got["status"] != "completed" {
				t.Errorf("the task is %v", got)
			}

			have := slices.Sorted(maps.Keys(found))
			if want := slices.Sorted(slices.Values(marks)); name == "without" && !slices.Equal(have, want) {
				t.Errorf("without keys Redis has %q, want %q: the test finds less than there is", have, want)
			} else if name != "without" && len(have) > 0 {
				t.Errorf("with keys Redis has in plain text %v", found)
			}
		})
	}
}

// TestStateKeysAreSetAndReplaced: replicas are restarted one after the other with keys, with another key that opens, that seals, and
// without the first. A call that asked at a replica before is answered, and ends, at one with the next settings. One without the key is
// no place for a session, for the time being: it answers 503, and the session goes on where the key is.
func TestStateKeysAreSetAndReplaced(t *testing.T) {
	t.Parallel() // it waits for most of its time
	server := redisserver.ForTest(t)
	backends := only(startService(t, newFixture().Server))
	a, b := stateKey('a'), stateKey('b')
	var edges []*harness.Edge
	for _, keys := range [][]string{nil, {a}, {a, b}, {b, a}, {b}} {
		edges = append(edges, startEdge(t, backends, withKeys(keys...), func(c *config.Config) { c.Redis.URL = server.URL() }))
	}
	for i, e := range edges[1:] {
		before := newSession(t, edges[i].URL, vNov)
		asked := before.call("ask_name", "").events()
		question := asked.awaitMethod("elicitation/create")
		asked.close()
		s := before.at(e)
		s.answer(question, answers["elicitation/create"])
		if got := text(t, s.get(asked.lastID).want(http.StatusOK).events().response().result(t)); got != "Hello, Ada" {
			t.Errorf("step %d: the call ended with %q", i+1, got)
		}
	}
	s := newSession(t, edges[1].URL, vNov)
	asked := s.call("ask_name", "").events()
	question := asked.awaitMethod("elicitation/create")
	for _, e := range []*harness.Edge{edges[0], edges[4]} {
		lost := s.at(e)
		lost.request("ping", "").want(http.StatusServiceUnavailable)
		lost.post(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":` + answers["elicitation/create"] + `}`).want(http.StatusServiceUnavailable)
	}
	s.at(edges[3]).answer(question, answers["elicitation/create"])
	if got := text(t, s.at(edges[3]).get(asked.lastID).want(http.StatusOK).events().response().result(t)); got != "Hello, Ada" {
		t.Errorf("after replicas without the key: %q", got)
	}
}

// TestRedisHoldsNoApproval: with redis.seal-keys neither what waits for an approval nor what is decided about it is in Redis, in both eras.
func TestRedisHoldsNoApproval(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for name, adjust := range map[string]func(*config.Config){"with keys": withKeys(stateKey('a')), "without": withKeys()} {
		t.Run(name, func(t *testing.T) {
			server, p := redisserver.ForTest(t), newPeople(t)
			e := startEdge(t, only(startService(t, newPayer().Server)), withAuth(p.id), toApprove, adjust, func(c *config.Config) {
				c.Redis.URL = server.URL()
				c.Policy.Approve[0].Message = mark + "question. {arguments.to}"
			})
			db := goredis.NewClient(&goredis.Options{Addr: server.Addr})
			t.Cleanup(func() { _ = db.Close() })
			found := map[string]string{}
			scan := func() { maps.Copy(found, inRedis(t, db)) }
			ann := p.id.Token(mark+"subject.", public, map[string]any{"roles": []string{"staff"}, "client_id": mark + "client."})
			lee := p.approver(mark + "claim.")
			call := `{"to":"` + mark + `argument."}`
			for _, verb := range []string{":grant", ":refuse"} {
				s, c := sessionAs(t, e, vNov, ann), statelessAs(t, e, ann)
				c.capabilities = withTasks
				old, _ := dig(s.request("tools/call", `{"name":"pay","arguments":`+call+`,"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
				fresh, _ := c.call("pay", call).want(http.StatusOK).result()["taskId"].(string)
				for _, task := range []string{old, fresh} {
					await.Until(t, "the task waits", func() bool { return decide(t, e, lee, task, "").status == http.StatusOK })
					scan()
					body := `{"approval":"` + approvalOf(t, e, lee, task) + `"}`
					if verb == ":refuse" {
						body = body[:len(body)-1] + `,"reason":"` + mark + `answer."}`
					}
					newCaller(t, "http://"+e.Admin+"/v1/approvals/"+task+verb).send(t, http.MethodPost, body, "Authorization", "Bearer "+lee).want(http.StatusOK)
					scan()
				}
				await.Until(t, "the tasks end", func() bool {
					return s.request("tasks/get", `{"taskId":"`+old+`"}`).result()["status"] != "working" &&
						c.request("tasks/get", map[string]any{"taskId": fresh}).result()["status"] != "working"
				})
				scan()
			}
			if name == "without" {
				for _, m := range []string{"question", "argument", "subject", "client", "answer"} {
					if found[m] == "" {
						t.Errorf("without keys Redis does not have the %s: the test finds less than there is", m)
					}
				}
			} else if len(found) > 0 {
				t.Errorf("with keys Redis has in plain text %v", found)
			}
		})
	}
}
