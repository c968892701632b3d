package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// recorder is a backend that records the arguments that it gets. The schemas of its tools accept all members.
type recorder struct {
	*capability.Server
	mu  sync.Mutex
	got []string
}

const recordedSchema = `{"type":"object","properties":{"query":{},"tenant":{"type":"string"}},"required":["tenant"]}`

func newRecorder() *recorder {
	r := &recorder{Server: capability.New("recorder", "1.0.0")}
	add := func(name string, options ...capability.ToolOption) {
		capability.AddRawTool(r.Server, &capability.Tool{Name: name, Description: "Is recorded", InputSchemaJson: recordedSchema}, func(_ context.Context, c *capability.Call, arguments json.RawMessage) (*capability.Result, error) {
			r.record(string(arguments))
			if strings.HasPrefix(name, "ask") {
				if _, err := capability.Ask[person](c, "name", "Who?"); err != nil {
					return nil, err
				}
			}
			return &capability.Result{Content: []*capability.Content{capability.Text(name + " ran")}}, nil
		}, options...)
	}
	add("find", capability.Tasks(capability.TaskOptional))
	add("ask")
	add("work", capability.Tasks(capability.TaskRequired))
	capability.AddPrompt(r.Server, &capability.Prompt{Name: "draft", Arguments: []*capability.PromptArgument{{Name: "query"}, {Name: "tenant", Required: true}}},
		func(_ context.Context, _ *capability.Call, arguments map[string]string) (string, error) {
			raw, err := json.Marshal(arguments)
			r.record(string(raw))
			return "draft ran", err
		})
	return r
}

func (r *recorder) record(arguments string) {
	r.mu.Lock()
	r.got = append(r.got, arguments)
	r.mu.Unlock()
}

// take returns what was recorded, and forgets it.
func (r *recorder) take() (got []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got, r.got = r.got, nil
	return got
}

// onlyPinned reports whether an object has the tenant acme once, and no other member that a backend may read as the tenant.
func onlyPinned(t *testing.T, object string) bool {
	dec, pinned := json.NewDecoder(bytes.NewReader([]byte(object))), 0
	if _, err := dec.Token(); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, object)
		}
		letters := strings.Map(func(c rune) rune {
			if !unicode.IsLetter(c) {
				return -1
			}
			return unicode.ToLower(c)
		}, key.(string))
		switch {
		case key == "tenant" && string(value) == `"acme"`:
			pinned++
		case strings.HasPrefix(letters, "tenant"):
			return false
		}
	}
	return pinned == 1
}

// pinAttempt is a call of a tool whose argument tenant is pinned.
type pinAttempt struct {
	tool, arguments string
	// harmless means that the tenant is named where no argument is, so that the call may run.
	harmless bool
	// echoed means that the error may repeat what the client sent, as it does for any other name.
	echoed bool
}

// pinAttempts are the attempts to send, shadow, duplicate, alias, fold, nest, null, default and complete the pinned argument.
func pinAttempts() (all []pinAttempt) {
	for i, name := range pinSpellings {
		tool := []string{"find", "search"}[i%2] // search is an alias
		all = append(all, pinAttempt{tool: tool, arguments: `{"query":"x","` + name + `":"evil"}`}, pinAttempt{tool: tool, arguments: `{"` + name + `":null}`})
	}
	for _, value := range []string{`"acme"`, `""`, `7`, `true`, `[]`, `["evil"]`, `{"x":"evil"}`} {
		all = append(all, pinAttempt{tool: "search", arguments: `{"tenant":` + value + `}`})
	}
	for _, arguments := range []string{`{"tenant":"acme","tenant":"evil"}`, `{"tenant":"evil","query":"x","tenant":null}`, `"{\"tenant\":\"evil\"}"`} {
		all = append(all, pinAttempt{tool: "find", arguments: arguments, echoed: true})
	}
	for _, arguments := range []string{
		`{"tenant":"evil","Tenant":"evil"}`, `{"query":1,"query":2}`,
		`{"tenant\u0000":"evil"}`, `{"\u200btenant":"evil"}`, `{" tenant":"evil"}`, `{"tenant\n":"evil"}`, `[]`, `["tenant","evil"]`, `7`, `true`,
	} {
		all = append(all, pinAttempt{tool: "find", arguments: arguments})
	}
	for _, arguments := range []string{
		`{"query":{"tenant":"evil"}}`, `{"arguments":{"tenant":"evil"}}`, `{"default":{"tenant":"evil"}}`, `{"$defs":{"tenant":{"default":"evil"}}}`, `{"query":"{\"tenant\":\"evil\"}"}`,
		`{"query":"x\",\"tenant\":\"evil"}`, `{"query":["tenant","evil"]}`, `{"__proto__":{"tenant":"evil"}}`, `{"":{"tenant":"evil"}}`, `{}`, `null`,
	} {
		all = append(all, pinAttempt{tool: "find", arguments: arguments, harmless: true})
	}
	return append(all, pinAttempt{"find", `{"x.tenant":"evil"}`, true, true}) // whose name a backend's own error may have
}

// pinDoor is a way to call a tool. It returns the answer; refused says that it is an error.
type pinDoor func(tool, arguments string) (answer string, refused bool)

// isRefused reports whether a response is an error.
func isRefused(r *reply) (string, bool) {
	var m struct {
		Result *struct{ IsError bool }
	}
	body := bytes.TrimSpace(r.body)
	if r.stream != nil { // On a slow machine a call becomes a stream before it ends.
		last := r.final()
		for string(last.ID) == `"q"` {
			last = r.final()
		}
		body = last.raw
	}
	if bytes.HasPrefix(body, []byte("[")) {
		var batch []json.RawMessage
		_ = json.Unmarshal(body, &batch)
		for _, one := range batch {
			if bytes.Contains(one, []byte(`"id":"p"`)) {
				body = one
			}
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		r.t.Fatalf("no response: %v: %s", err, r.body)
	}
	return string(body), m.Result == nil || m.Result.IsError
}

// direct is the door of a client.
func direct(a asker) pinDoor {
	return func(tool, arguments string) (string, bool) {
		if c, ok := a.(*stateless); ok {
			return isRefused(c.call(tool, arguments))
		}
		return isRefused(a.ask("tools/call", toolParams(tool, arguments, "")))
	}
}

// pinDoors are all ways to call a tool of an edge, for callers with the tenant acme.
func pinDoors(t *testing.T, e *harness.Edge, token, key string) map[string]pinDoor {
	at := func(set, version, credential string) asker {
		if version == v2026 {
			c := newStateless(t, atSet(e, set))
			c.as(credential)
			return c
		}
		return sessionAt(t, atSet(e, set), version, credential)
	}
	session, batch := sessionAs(t, e, vNov, key), sessionAs(t, e, vMar, token)
	tasks := statelessAs(t, e, key)
	tasks.capabilities = withTasks
	doors := map[string]pinDoor{
		"root, " + vNov:  direct(session),
		"root, " + v2026: direct(statelessAs(t, e, token)),
		"set, " + vNov:   direct(at("desk", vNov, token)),
		"set, " + v2026:  direct(at("desk", v2026, key)),
		"HTTP+SSE":       direct(newSSE(t, e, "/sse", token)),
		"batch, " + vMar: func(tool, arguments string) (string, bool) {
			return isRefused(batch.post(`[{"jsonrpc":"2.0","id":"p","method":"tools/call","params":` + toolParams(tool, arguments, "") + `},{"jsonrpc":"2.0","id":"q","method":"ping"}]`))
		},
		"REST":                      restDoor(newOperator(t, e)),
		"task of " + vNov:           sessionTask(t, session),
		"task of " + v2026:          statelessTask(t, tasks),
		"prompt and its completion": promptDoor(t, session, statelessAs(t, e, token)),
	}
	search, searching := at("many", vNov, key), at("many", v2026, token)
	doors["call_tool, "+vNov] = func(tool, arguments string) (string, bool) {
		return isRefused(wrapped(t, search, tool, arguments, nil))
	}
	doors["call_tool, "+v2026] = func(tool, arguments string) (string, bool) {
		return isRefused(wrapped(t, searching, tool, arguments, nil))
	}
	return doors
}

func restDoor(o *operator) pinDoor {
	return func(tool, arguments string) (string, bool) {
		r := o.post("/v1/tools/"+tool+":call", `{"arguments":`+arguments+`}`)
		return r.text, r.status != http.StatusOK
	}
}

func sessionTask(t *testing.T, s *session) pinDoor {
	return func(tool, arguments string) (string, bool) {
		text, refused := isRefused(s.request("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`,"task":{}}`))
		if !refused {
			id, _ := dig(parse(t, []byte(text)).result(t), "task", "taskId").(string)
			return isRefused(&reply{t: t, body: s.request("tasks/result", `{"taskId":"`+id+`"}`).final().raw})
		}
		return text, refused
	}
}

// statelessTask calls the tool work, of whose calls the edge makes tasks.
func statelessTask(t *testing.T, c *stateless) pinDoor {
	return func(_, arguments string) (string, bool) {
		text, refused := isRefused(c.call("work", arguments))
		if !refused {
			id, _ := parse(t, []byte(text)).result(t)["taskId"].(string)
			await.Until(t, "the task to end", func() bool {
				r := c.request("tasks/get", map[string]any{"taskId": id}).want(http.StatusOK)
				text = string(r.body)
				return r.result()["status"] != "working"
			})
		}
		return text, refused
	}
}

// promptDoor gets a prompt, and completes an argument of it in the context of the arguments.
func promptDoor(t *testing.T, s *session, c *stateless) pinDoor {
	return func(_, arguments string) (string, bool) {
		text, refused := isRefused(s.request("prompts/get", `{"name":"draft","arguments":`+arguments+`}`))
		other, also := isRefused(c.request("prompts/get", map[string]any{"name": "draft", "arguments": json.RawMessage(arguments)}))
		if refused != also {
			t.Errorf("%s: refused in one era only: %s and %s", arguments, text, other)
		}
		completed, _ := isRefused(s.request("completion/complete",
			`{"ref":{"type":"ref/prompt","name":"draft"},"argument":{"name":"query","value":""},"context":{"arguments":`+arguments+`}}`))
		return text + other + completed, refused
	}
}

// TestPinnedTenantAtEveryDoor: whatever a caller sends, at every door, a backend gets the tenant of the caller's API key or token, or is
// not called, and no error names what is pinned.
func TestPinnedTenantAtEveryDoor(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	id, r := issuer.Serve(t), newRecorder()
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	const key = "key-of-alice"
	if err := os.WriteFile(keys, fmt.Appendf(nil, "- {name: alice, sha256: %x, claims: {tenant: acme}}\n", sha256.Sum256([]byte(key))), 0o600); err != nil {
		t.Fatal(err)
	}
	e := startEdge(t, only(startService(t, r.Server)), withAuth(id), func(c *config.Config) {
		c.Auth.APIKeys = keys
		pin := map[string]config.CatalogArgument{"tenant": {From: `principal.subject == "admin" ? "acme" : principal.claims.tenant`}} // REST has no claims
		c.Catalog = &config.Catalog{
			Tools:   []config.CatalogTool{{Backend: c.Backends[0].Name, Tool: "find", Aliases: config.Names{"search"}}, {Backend: c.Backends[0].Name, Tool: "*", Arguments: pin}},
			Prompts: []config.CatalogPrompt{{Backend: c.Backends[0].Name, Prompt: "draft", Arguments: pin}},
		}
		all := config.SetMembers{Backends: config.Names{c.Backends[0].Name}}
		c.Sets = map[string]config.Set{"desk": {Include: all, AcceptRoot: true}, "many": {Include: all, AcceptRoot: true, Search: config.SearchOn}}
	})
	attempts := pinAttempts()
	if len(attempts) < 60 {
		t.Fatalf("%d attempts", len(attempts))
	}
	for door, call := range pinDoors(t, e, id.Token("alice", public, map[string]any{"tenant": "acme"}), key) {
		ran := 0
		for _, a := range attempts {
			answer, refused := call(a.tool, a.arguments)
			got := r.take()
			if !a.harmless && (!refused || len(got) > 0) {
				t.Errorf("%s: %s %s: the backend got %q: %s", door, a.tool, a.arguments, got, answer)
			}
			if i := slices.IndexFunc(got, func(object string) bool { return !onlyPinned(t, object) }); i >= 0 {
				t.Errorf("%s: %s %s: the backend got %s", door, a.tool, a.arguments, got[i])
			}
			if a.echoed && namesPinned(answer) {
				other := strings.NewReplacer("tenant", "regent", "acme", "mace").Replace
				same, _ := call(a.tool, other(a.arguments))
				_ = r.take()
				if answer = requestIDs.ReplaceAllString(other(answer), ""); answer != requestIDs.ReplaceAllString(same, "") {
					t.Errorf("%s: %s %s: the answer is %s, and of another name %s", door, a.tool, a.arguments, answer, same)
				}
			} else if namesPinned(answer) {
				t.Errorf("%s: %s %s: the answer is %s", door, a.tool, a.arguments, answer)
			}
			ran += len(got)
		}
		if ran == 0 {
			t.Errorf("%s: the backend got no call", door)
		}
	}
	resumed(t, e, r, id.Token("alice", public, map[string]any{"tenant": "acme"}))
}

// requestIDs matches the ids of responses.
var requestIDs = regexp.MustCompile(`"id":[^,]*`)

// namesPinned reports whether an answer has the name of the pinned argument, its value, or that of an attempt.
func namesPinned(answer string) bool {
	lower := strings.ToLower(answer)
	return strings.Contains(lower, "tenant") || strings.Contains(lower, "acme") || strings.Contains(lower, "evil")
}

// resumed tries to send the pinned argument in the second round of a call.
func resumed(t *testing.T, e *harness.Edge, r *recorder, token string) {
	s, c := sessionAs(t, e, vNov, token), statelessAs(t, e, token)
	const answer = `{"action":"accept","content":{"name":"Ada","tenant":"evil"}}`
	asked := s.call("ask", `{}`).events()
	s.answer(asked.awaitMethod("elicitation/create"), answer)
	asked.message()
	again := retry(t, c.call("ask", `{"query":"x"}`).result(), `{"name":`+answer+`,"tenant":{"action":"accept","content":{"tenant":"evil"}}}`)
	c.call("ask", `{"query":"x"}`, again)
	if got := r.take(); len(got) < 4 || slices.ContainsFunc(got, func(object string) bool { return !onlyPinned(t, object) }) {
		t.Errorf("after answers with the pinned argument the backend got %q", got)
	}
	for _, arguments := range []string{`{"query":"x","tenant":"evil"}`, `{"query":"x","TENANT":"evil"}`, `{"query":"x","tenant":"acme"}`, `{"query":"x","tenant":null}`, `{"query":"y"}`} {
		text, refused := isRefused(c.call("ask", arguments, again))
		if got := r.take(); !refused || len(got) > 0 || strings.Contains(text, "tenant") || strings.Contains(text, "acme") {
			t.Errorf("%s with the state of a call: the backend got %q: %s", arguments, got, text)
		}
	}
}
