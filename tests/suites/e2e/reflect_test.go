package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// startReflected runs an edge before a gRPC service that knows nothing of the contract.
func startReflected(t *testing.T) (*reflecttest.Server, *harness.Edge) {
	t.Helper()
	s := reflecttest.Serve(t, reflecttest.Kinds(), reflecttest.Answer, reflecttest.Options{})
	e := startEdge(t, []config.Backend{{Name: "kinds", Target: s.Addr, Kind: config.KindReflect, Exclude: []string{"*/Check"}}})
	awaitLearned(t, e)
	return s, e
}

// awaitLearned waits until an edge lists the tools of reflecttest.Kinds. A busy machine may need longer for them than a start waits.
func awaitLearned(t *testing.T, e *harness.Edge) {
	t.Helper()
	await.Until(t, "the methods of the service to be learned", func() bool {
		r, err := newOperator(t, e).try(http.MethodGet, "/v1/tools", "")
		return err == nil && strings.Contains(r.text, `"kind_echo"`)
	})
}

// TestReflectedTools: a service's methods are listed and called in both eras, with their schemas, errors
// and streams.
func TestReflectedTools(t *testing.T) {
	t.Parallel() // it waits for most of its time
	_, e := startReflected(t)
	modern, legacy := newStateless(t, e.URL), newSession(t, e.URL, vNov)
	lists := map[string]map[string]any{
		"modern": modern.request("tools/list", nil).result(),
		"legacy": legacy.request("tools/list", "").result(),
	}
	for era, list := range lists {
		got := names(list["tools"], "name")
		if !slices.Contains(got, "kind_walk") || !slices.Contains(got, "wipe") || slices.Contains(got, "kind_check") || len(got) != 9 {
			t.Errorf("%s: listed %v", era, got)
		}
	}
	calls := map[string]func(tool, args string) *reply{
		"modern": func(tool, args string) *reply { return modern.call(tool, args) },
		"legacy": func(tool, args string) *reply { return legacy.call(tool, args) },
	}
	for era, call := range calls {
		walked := call("kind_walk", `{"label":"a","left":{"label":"b"}}`).want(http.StatusOK).result()
		if got := dig(walked, "structuredContent", "left", "label"); got != "b" || walked["isError"] == true {
			t.Errorf("%s: kind_walk gave %v", era, walked)
		}
		for tool, c := range map[string]struct{ args, want string }{
			"kind_walk": {`{"label":"a","lable":"b"}`, "lable"},
			"kind_echo": {`{"chosenText":"a","chosenNumber":1}`, ""},
			"kind_fail": {`{"code":5,"message":"no such thing"}`, "NOT_FOUND: no such thing"},
		} {
			refused := call(tool, c.args).want(http.StatusOK).result()
			if refused["isError"] != true || !strings.Contains(text(t, refused), c.want) {
				t.Errorf("%s: %s %s gave %v", era, tool, c.args, refused)
			}
		}
		call("kind_fail", `{"code":14,"message":"away"}`).json().wantError(t, -31502)
		if got := dig(call("kind_count", `{"to":3}`).result(), "structuredContent", "number"); got != 3.0 {
			t.Errorf("%s: kind_count gave %v", era, got)
		}
	}
	stream := legacy.callWithProgress("kind_count", `{"to":2,"text":"x"}`, "p").events()
	for _, want := range []string{`{"number":1,"text":"x"}`, `{"number":2,"text":"x"}`} {
		if got := dig(object(t, stream.awaitMethod("notifications/progress").Params), "message"); got != want {
			t.Errorf("progress %v, want %s", got, want)
		}
	}
	if got := dig(stream.message().result(t), "structuredContent", "number"); got != 2.0 {
		t.Errorf("the stream's result: %v", got)
	}
}

// TestReflectedConfirmation: the user is asked before a method that says so is called, in both eras.
func TestReflectedConfirmation(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s, e := startReflected(t)
	var explained bytes.Buffer
	cfg := harness.Config(config.Backend{Name: "kinds", Target: s.Addr, Kind: config.KindReflect})
	if err := app.ExplainPolicy(t.Context(), cfg, app.Question{Claims: json.RawMessage(`{}`), Tool: "wipe"}, &explained); err != nil ||
		!strings.Contains(explained.String(), `the user must confirm it: "kinds/wipe", which the service requires`) || !strings.Contains(explained.String(), "confirmations") {
		t.Errorf("%v: %s", err, &explained)
	}
	legacy := newSession(t, e.URL, vNov)
	for answer, code := range map[string]int{sayYes: 0, leaveOpen: -31403, sayNo: -31403} {
		stream := legacy.call("wipe", `{"id":"x"}`).want(http.StatusOK).events()
		asked := stream.awaitMethod("elicitation/create")
		if !strings.Contains(dig(object(t, asked.Params), "message").(string), "Really wipe it out?\n\nArguments: {\"id\":\"x\"}") {
			t.Errorf("asked %s", asked.Params)
		}
		legacy.answer(asked, answer)
		check := func(era string, m message) {
			if code != 0 {
				m.wantError(t, code)
			} else if got := text(t, m.result(t)); !strings.Contains(got, `"id":"x"`) {
				t.Errorf("%s, %s: %q", era, answer, got)
			}
		}
		check("legacy", stream.message())
		modern := newStateless(t, e.URL)
		first := modern.call("wipe", `{"id":"x"}`).want(http.StatusOK).result()
		yes := retry(t, first, confirming(answer))
		check("modern", modern.call("wipe", `{"id":"x"}`, yes).json())
		again := -31520
		if code != 0 {
			again = code
		}
		modern.call("wipe", `{"id":"x"}`, yes).json().wantError(t, again)
	}
	if asked := newStateless(t, e.URL).call("wipe", `{"nonsense":"x"}`).result(); asked["isError"] != true {
		t.Errorf("arguments that are none: %v", asked)
	}
	unable := newSession(t, e.URL, vNov, `{}`).call("wipe", `{"id":"x"}`).final().wantError(t, -31403)
	if !strings.Contains(unable.Error.Message, "elicitation") {
		t.Errorf("a client that cannot ask: %s", unable.Error.Message)
	}
}

// TestReflectedRedeploy: clients hear of tools that a new deployment brings.
func TestReflectedRedeploy(t *testing.T) {
	before := reflecttest.Compile(map[string]string{"shop.proto": shop("Get")})
	after := reflecttest.Compile(map[string]string{"shop.proto": shop("Get", "Put")})
	s := reflecttest.Serve(t, before, reflecttest.Answer, reflecttest.Options{})
	e := startEdge(t, []config.Backend{{Name: "shop", Target: s.Addr, Kind: config.KindReflect}})
	c := newSession(t, e.URL, vNov)
	stream := c.get("").events()
	s.GRPC.Stop()
	await.Until(t, "a call fails", func() bool {
		m := c.call("shop_get", `{}`).final()
		return m.Error != nil
	})
	reflecttest.Serve(t, after, reflecttest.Answer, reflecttest.Options{Addr: s.Addr})
	stream.awaitMethod("notifications/tools/list_changed")
	if got := names(c.request("tools/list", "").result()["tools"], "name"); !slices.Equal(got, []string{"shop_get", "shop_put"}) {
		t.Errorf("listed: %v", got)
	}
}

// shop is a service with these methods.
func shop(methods ...string) string {
	text := `syntax = "proto3"; package shop.v1; message Item { string id = 1; } service ShopService {`
	for _, m := range methods {
		text += "rpc " + m + "(Item) returns (Item);"
	}
	return text + "}"
}

// TestReflectedFarAway: a service that takes long to be learned holds nobody up for longer than start-wait; /readyz and the log say
// how far it is, and what answers at all is not tried anew.
func TestReflectedFarAway(t *testing.T) {
	t.Parallel() // it waits for most of its time
	files := map[string]string{"a.proto": `syntax = "proto3"; package far; import "b.proto"; import "c.proto"; message A { B b = 1; C c = 2; } service FarService { rpc Get(A) returns (A); }`,
		"b.proto": `syntax = "proto3"; package far; message B {}`, "c.proto": `syntax = "proto3"; package far; message C {}`}
	let := make(chan struct{})
	var lists atomic.Int32
	s := reflecttest.Serve(t, reflecttest.Compile(files), reflecttest.Answer, reflecttest.Options{Single: func(req *rpb.ServerReflectionRequest) {
		if req.GetFileByFilename() == "c.proto" {
			<-let
		}
		if _, is := req.GetMessageRequest().(*rpb.ServerReflectionRequest_ListServices); is {
			lists.Add(1)
		}
	}})
	e := startEdge(t, []config.Backend{{Name: "far", Target: s.Addr, Kind: config.KindReflect}},
		func(c *config.Config) { c.Advanced.StartWait = time.Second })
	await.Until(t, "/readyz says how far it is", func() bool {
		r, err := newOperator(t, e).try(http.MethodGet, "/readyz", "")
		return err == nil && r.status == http.StatusOK && strings.Contains(r.text, `backend "far": learned 2 of 3 files`)
	})
	await.Until(t, "the log says how far it is", func() bool { return strings.Contains(e.Log.String(), "learned 2 of 3 files") })
	close(let)
	await.Until(t, "its tools are listed", func() bool {
		r, err := newOperator(t, e).try(http.MethodGet, "/v1/tools", "")
		return err == nil && strings.Contains(r.text, `"far_get"`)
	})
	if n := lists.Load(); n != 1 {
		t.Errorf("it was learned %d times", n)
	}
	if r, err := newOperator(t, e).try(http.MethodGet, "/readyz", ""); err != nil || r.text != "ready\n" {
		t.Errorf("/readyz: %v, %v", r, err)
	}
}
