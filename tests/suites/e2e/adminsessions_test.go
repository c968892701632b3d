package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// TestAdminShowsNoControlCharacters: what a client calls itself is shown whole, escaped where it would change what a terminal shows.
func TestAdminShowsNoControlCharacters(t *testing.T) {
	_, e, o := startAdmin(t)
	name := "a\u202eb\u009bc\u001b[2Jd\u2066e"
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%s,"version":"1"}}}`, vNov, strconv.QuoteToASCII(name))
	body = strings.ReplaceAll(body, `\x1b`, `\u001b`)
	resp, err := http.Post(e.URL, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	for _, path := range []string{"/v1/sessions", "/v1/sessions/" + id, "/v1/sessions/" + url.PathEscape(name)} {
		if r := o.get(path); strings.ContainsFunc(strings.TrimSpace(r.text), mcp.IsControl) {
			t.Errorf("%s: %q", path, r.text)
		}
	}
	o.get("/v1/sessions/"+id).want(http.StatusOK).has(name, "session", "clientInfo", "name")
}

// TestAdminSessions: an operator sees the sessions of all replicas at any of them, and ends one there.
func TestAdminSessions(t *testing.T) {
	_, edges, _ := startReplicas(t, 2)
	o, other := newOperator(t, edges[0]), newOperator(t, edges[1])
	o.get("/v1/sessions").want(http.StatusOK).has("", "nextPageToken")
	var want []string
	for i := range 5 {
		want = append(want, newSession(t, edges[i%2].URL, vNov).id)
	}
	s := newSession(t, edges[0].URL, vJun)
	want = append(want, s.id)
	got, _ := other.names("/v1/sessions", "sessions", "id")
	paged := other.pagesOf("/v1/sessions?pageSize=2", 2)
	for _, list := range [][]string{want, got, paged} {
		slices.Sort(list)
	}
	if !slices.Equal(got, want) || !slices.Equal(paged, want) {
		t.Errorf("listed %v and in pages of two %v, want %v", got, paged, want)
	}

	s.request("resources/subscribe", `{"uri":"test://note"}`).want(http.StatusOK)
	s.request("logging/setLevel", `{"level":"warning"}`).want(http.StatusOK)
	r := other.get("/v1/sessions/"+s.id).want(http.StatusOK).has(s.id, "session", "id").has(vJun, "session", "revision").
		has("e2e", "session", "clientInfo", "name").has("warning", "session", "logLevel").has(true, "session", "initialized").
		has("test://note", "session", "subscriptions", 0).has(1.0, "session", "subscriptionCount").has(nil, "session", "principal")
	if r.at("session", "clientCapabilities", "elicitation") == nil {
		t.Errorf("capabilities: %s", r.text)
	}
	text, _ := r.at("session", "expireTime").(string)
	if at, err := time.Parse(time.RFC3339, text); err != nil || time.Until(at) < 50*time.Minute || time.Until(at) > 61*time.Minute {
		t.Errorf("expires %s, want in about an hour", text)
	}

	// At the replica that the client does not use.
	standalone := s.get("").want(http.StatusOK).events()
	standalone.awaitMethod("notifications/resources/updated")
	other.do(http.MethodDelete, "/v1/sessions/"+s.id, "").want(http.StatusOK)
	standalone.end()
	s.request("tools/list", "").want(http.StatusNotFound)
	for _, at := range []*operator{o, other} {
		at.get("/v1/sessions/"+s.id).want(http.StatusNotFound).has(5.0, "code")
		at.do(http.MethodDelete, "/v1/sessions/"+s.id, "").want(http.StatusNotFound).has(5.0, "code")
	}
	for _, query := range []string{"pageSize=-1", "pageSize=1001", "pageSize=x", "pageToken=%21"} {
		o.get("/v1/sessions?"+query).want(http.StatusBadRequest).has(3.0, "code")
	}
}

// pagesOf lists the ids of sessions from a path with a query, with pages of at most size.
func (o *operator) pagesOf(path string, size int) (out []string) {
	o.t.Helper()
	for token := ""; ; {
		r := o.get(path + "&pageToken=" + url.QueryEscape(token)).want(http.StatusOK)
		list, _ := r.at("sessions").([]any)
		if len(list) > size {
			o.t.Fatalf("a page of %d sessions", len(list))
		}
		for i := range list {
			id, _ := r.at("sessions", i, "id").(string)
			out = append(out, id)
		}
		if token, _ = r.at("nextPageToken").(string); token == "" {
			return out
		}
	}
}

// TestAdminSessionsInMemory: the same of one replica that shares nothing.
func TestAdminSessionsInMemory(t *testing.T) {
	_, e, o := startAdmin(t)
	s := newSession(t, e.URL, vMar)
	o.get("/v1/sessions").want(http.StatusOK).has(s.id, "sessions", 0, "id").has(vMar, "sessions", 0, "revision")
	stream := s.call("ask_model", "").want(http.StatusOK).events()
	stream.awaitMethod("sampling/createMessage")
	o.get("/v1/sessions/"+s.id).want(http.StatusOK).has(1.0, "session", "openCalls")
	o.do(http.MethodDelete, "/v1/sessions/"+s.id, "").want(http.StatusOK)
	s.request("tools/list", "").want(http.StatusNotFound)
	o.get("/v1/sessions").want(http.StatusOK).has(nil, "sessions", 0)
}
