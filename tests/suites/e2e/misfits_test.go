package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A person is told why an answer does not fit, and is asked three times at most.
const (
	noName    = `{"action":"accept","content":{"name":7}}`
	noReason  = "What is your name?"
	theReason = "What is your name?\n\nThe last answer did not fit: at '/name': got number, want string."
	noResult  = "What is your name?\n\nThe last answer did not fit: it is not a result of elicitation/create."
	tooOften  = `the client's answer to "name" does not fit the question, after it was asked 3 times: at '/name': got number, want string`
)

// TestMisfitsWithoutSession: an answer that does not fit is asked for again with the reason, at most twice, in 2026-07-28.
func TestMisfitsWithoutSession(t *testing.T) {
	_, e := startFixture(t)
	c := newStateless(t, e.URL)
	for method, params := range map[string]map[string]any{
		"tools/call": {"name": "ask_name", "arguments": map[string]any{}}, "prompts/get": {"name": "ask_prompt"}, "resources/read": {"uri": "test://asked"},
	} {
		t.Run(strings.ReplaceAll(method, "/", " "), func(t *testing.T) {
			ask := func(before map[string]any, answer string) *reply {
				given := map[string]any{}
				for k, v := range params {
					given[k] = v
				}
				if before != nil {
					for k, v := range retry(t, before, `{"name":`+answer+`}`) {
						given[k] = v
					}
				}
				return c.request(method, given)
			}
			asked := func(r *reply, message string) map[string]any {
				t.Helper()
				got := r.want(http.StatusOK).result()
				if text := dig(got, "inputRequests", "name", "params", "message"); text != message {
					t.Fatalf("asked %q, want %q", text, message)
				}
				return got
			}
			first := asked(ask(nil, ""), noReason)
			second := asked(ask(first, noName), theReason)
			if got := ask(second, answers["elicitation/create"]).want(http.StatusOK).result(); got["resultType"] != "complete" {
				t.Errorf("an answer that fits gave %v", got)
			}
			third := asked(ask(second, `{"content":{}}`), noResult)
			last := ask(third, noName)
			if method == "tools/call" {
				if got := last.want(http.StatusOK).result(); got["isError"] != true || text(t, got) != tooOften {
					t.Errorf("the third answer gave %v", got)
				}
			} else if e := last.want(http.StatusBadRequest).json().wantError(t, -32602).Error; e.Message != tooOften {
				t.Errorf("the third answer gave %q", e.Message)
			}
			if got := ask(third, answers["elicitation/create"]).want(http.StatusOK).result(); got["resultType"] != "complete" {
				t.Errorf("a third answer that fits gave %v", got)
			}
		})
	}
	// Answers that come without having been asked for count as the first.
	free := map[string]any{"inputResponses": json.RawMessage(`{"name":` + noName + `}`)}
	if got := dig(c.call("ask_name", "", free).result(), "inputRequests", "name", "params", "message"); got != theReason {
		t.Errorf("asked %q", got)
	}
}

// TestMisfitsInASession: the same in the revisions with sessions, where the questions are requests.
func TestMisfitsInASession(t *testing.T) {
	_, e := startFixture(t)
	for _, version := range []string{vJun, vNov} {
		for method, params := range map[string]string{
			"tools/call": `{"name":"ask_name","arguments":{}}`, "prompts/get": `{"name":"ask_prompt"}`, "resources/read": `{"uri":"test://asked"}`,
		} {
			t.Run(version+" "+strings.ReplaceAll(method, "/", " "), func(t *testing.T) {
				s := newSession(t, e.URL, version)
				begin := func(given ...string) *stream {
					stream := s.request(method, params).events()
					for i, answer := range given {
						m := stream.awaitMethod("elicitation/create")
						if got := dig(object(t, m.Params), "message"); got != []any{noReason, theReason, theReason}[i] {
							t.Fatalf("question %d is %q", i+1, got)
						}
						s.answer(m, answer)
					}
					return stream
				}
				if got := begin(noName, noName, answers["elicitation/create"]).message(); got.Error != nil || strings.Contains(string(got.Result), "isError") {
					t.Errorf("an answer that fits gave %s, %v", got.Result, got.Error)
				}
				got := begin(noName, noName, noName).message()
				if method == "tools/call" {
					if r := got.result(t); r["isError"] != true || text(t, r) != tooOften {
						t.Errorf("the third answer gave %v", r)
					}
				} else if e := got.wantError(t, -32602).Error; e.Message != tooOften {
					t.Errorf("the third answer gave %q", e.Message)
				}
			})
		}
	}
}
