package e2e

import (
	"net/http"
	"slices"
	"testing"
)

// TestSession runs the main job of every revision with sessions, each step on one endpoint.
func TestSession(t *testing.T) {
	_, e := startFixture(t)
	for _, version := range stateful {
		t.Run(version, func(t *testing.T) {
			s := newSession(t, e.URL, version)
			checkHello(t, s)
			checkLists(t, s)
			checkWork(t, s)
			checkUtilities(t, s)
			checkEnd(t, s)
		})
	}
}

func checkHello(t *testing.T, s *session) {
	t.Helper()
	if got := s.hello["protocolVersion"]; got != s.version {
		t.Errorf("negotiated %v, want %s", got, s.version)
	}
	if got := dig(s.hello, "serverInfo", "name"); got != "mcpedge" {
		t.Errorf("serverInfo.name is %v", got)
	}
	for _, c := range []string{"tools", "resources", "prompts", "logging", "completions"} {
		if dig(s.hello, "capabilities", c) == nil {
			t.Errorf("capability %s is missing: %v", c, s.hello["capabilities"])
		}
	}
	for _, path := range [][]any{{"tools", "listChanged"}, {"resources", "subscribe"}, {"prompts", "listChanged"}} {
		if dig(dig(s.hello, "capabilities"), path...) != true {
			t.Errorf("capabilities.%v is not true: %v", path, s.hello["capabilities"])
		}
	}
	if s.hello["instructions"] == nil {
		t.Error("the backend's instructions are missing")
	}
}

// names are the values of a member over the entries of a list.
func names(list any, member string) []string {
	var out []string
	entries, _ := list.([]any)
	for _, e := range entries {
		name, _ := dig(e, member).(string)
		out = append(out, name)
	}
	return out
}

func checkLists(t *testing.T, s *session) {
	t.Helper()
	for _, list := range []struct{ method, member, key, want string }{
		{"tools/list", "tools", "name", "add"},
		{"resources/list", "resources", "uri", "test://note"},
		{"resources/templates/list", "resourceTemplates", "uriTemplate", "test://item/{id}"},
		{"prompts/list", "prompts", "name", "greet"},
	} {
		got := s.request(list.method, "").want(http.StatusOK).result()
		if !slices.Contains(names(got[list.member], list.key), list.want) {
			t.Errorf("%s lacks %s: %v", list.method, list.want, got)
		}
		for _, modern := range []string{"resultType", "ttlMs", "cacheScope"} {
			if _, ok := got[modern]; ok {
				t.Errorf("%s has %s, which this revision has not", list.method, modern)
			}
		}
	}
}

func checkWork(t *testing.T, s *session) {
	t.Helper()
	r := s.call("add", `{"a":2,"b":3}`)
	if r.stream != nil {
		t.Error("a call without events is answered by a stream")
	}
	sum := r.result()
	if text(t, sum) != `{"sum":5}` {
		t.Errorf("add gave %v", sum)
	}
	if _, structured := sum["structuredContent"]; structured != (s.version >= vJun) {
		t.Errorf("structuredContent present: %v, in %s", structured, s.version)
	}
	if got := dig(s.request("resources/read", `{"uri":"test://note"}`).result(), "contents", 0, "text"); got != "first" {
		t.Errorf("the note is %v", got)
	}
	if got := dig(s.request("resources/read", `{"uri":"test://bytes"}`).result(), "contents", 0, "blob"); got != "AP8=" {
		t.Errorf("the bytes are %v", got)
	}
	if got := dig(s.request("resources/read", `{"uri":"test://item/7"}`).result(), "contents", 0, "text"); got != "item 7" {
		t.Errorf("the item is %v", got)
	}
	if got := dig(s.request("prompts/get", `{"name":"greet","arguments":{"name":"Ada"}}`).result(), "messages", 0, "content", "text"); got != "Greet Ada" {
		t.Errorf("the prompt is %v", got)
	}
	values := dig(s.request("completion/complete",
		`{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"a"}}`).result(), "completion", "values")
	if got, _ := values.([]any); len(got) != 2 {
		t.Errorf("completions of the prompt: %v", values)
	}
	values = dig(s.request("completion/complete",
		`{"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":"b"}}`).result(), "completion", "values")
	if got, _ := values.([]any); len(got) != 1 || got[0] != "banana" {
		t.Errorf("completions of the template: %v", values)
	}
}

func checkUtilities(t *testing.T, s *session) {
	t.Helper()
	for _, m := range []struct{ method, params string }{
		{"ping", ""},
		{"logging/setLevel", `{"level":"info"}`},
		{"resources/subscribe", `{"uri":"test://note"}`},
		{"resources/unsubscribe", `{"uri":"test://note"}`},
	} {
		if got := s.request(m.method, m.params).want(http.StatusOK).json(); string(got.Result) != "{}" {
			t.Errorf("%s: %s, want an empty result", m.method, got.raw)
		}
	}
	stream := s.callWithProgress("count", `{"to":2}`, "tok").want(http.StatusOK).events()
	for i := 1; i <= 2; i++ {
		p := object(t, stream.awaitMethod("notifications/progress").Params)
		if p["progressToken"] != "tok" || p["progress"] != float64(i) || p["total"] != float64(2) {
			t.Errorf("progress %d: %v", i, p)
		}
		m := object(t, stream.awaitMethod("notifications/message").Params)
		if m["level"] != "info" || m["logger"] != "counter" || m["data"] != float64(i) {
			t.Errorf("message %d: %v", i, m)
		}
	}
	if got := text(t, stream.message().result(t)); got != "counted to 2" {
		t.Errorf("count gave %q", got)
	}
	stream.end()
}

func checkEnd(t *testing.T, s *session) {
	t.Helper()
	s.delete().want(http.StatusNoContent)
	s.request("ping", "").want(http.StatusNotFound)
	s.get("").want(http.StatusNotFound)
	s.delete().want(http.StatusNotFound)
}

// TestStreamAfter: a call that takes long gets a stream, so that nobody cuts it off.
func TestStreamAfter(t *testing.T) {
	f, e := startFixture(t, quickStreams)
	s := newSession(t, e.URL, vNov)
	r := s.call("gate", `{"name":"slow"}`)
	if r.stream == nil {
		t.Fatalf("want a stream: %s", r.body)
	}
	<-f.started
	close(f.gate("slow"))
	if got := r.text(); got != "passed slow" {
		t.Errorf("got %q", got)
	}
}

// TestCancel: a cancelled call ends at the backend and has no response.
func TestCancel(t *testing.T) {
	f, e := startFixture(t)
	s := newSession(t, e.URL, vNov)
	r := s.request("tools/call", toolParams("gate", `{"name":"never"}`, `"progressToken":1`))
	<-f.started
	stream := r.events()
	stream.awaitMethod("notifications/progress")
	s.notify("notifications/cancelled", `{"requestId":2,"reason":"enough"}`)
	if err := <-f.ended; err == nil {
		t.Error("the backend's call was not cancelled")
	}
	stream.end()
}

// TestContentByRevision: what a revision cannot carry reaches its clients as what they can read.
func TestContentByRevision(t *testing.T) {
	_, e := startFixture(t)
	want := map[string][]string{
		vMar: {"text", "image", "audio", "text", "resource"},
		vJun: {"text", "image", "audio", "resource_link", "resource"},
		vNov: {"text", "image", "audio", "resource_link", "resource"},
	}
	for version, types := range want {
		got := names(newSession(t, e.URL, version).call("rich", "").result()["content"], "type")
		if !slices.Equal(got, types) {
			t.Errorf("%s: %v, want %v", version, got, types)
		}
	}
	got := names(newStateless(t, e.URL).call("rich", "").result()["content"], "type")
	if !slices.Equal(got, want[vNov]) {
		t.Errorf("%s: %v", v2026, got)
	}
}
