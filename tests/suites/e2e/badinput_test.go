package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// bad is one row of what may come in wrong, and exactly how it is answered.
type bad struct {
	name string
	// method of HTTP; empty: POST.
	method string
	body   string
	// headers in turn, on top of the defaults: name, value; an empty value leaves the default out.
	headers []string
	status  int
	// code of the JSON-RPC error; 0: there is none.
	code int
	// id of the error response as it stands on the wire; empty: it has none.
	id string
	// check looks further; may be nil.
	check func(t *testing.T, r *reply)
}

// run sends the row's request, with headers before its own, and holds the answer against the row.
func (b bad) run(t *testing.T, c *caller, headers ...string) {
	t.Helper()
	method := b.method
	if method == "" {
		method = http.MethodPost
	}
	r := c.send(t, method, b.body, append(headers, b.headers...)...)
	if r.status != b.status {
		t.Fatalf("status %d, want %d: %s", r.status, b.status, r.body)
	}
	if b.code != 0 {
		m := r.final().wantError(t, b.code)
		if string(m.ID) != b.id {
			t.Errorf("id %q, want %q: %s", m.ID, b.id, m.raw)
		}
	} else if r.stream == nil && strings.Contains(string(r.body), `"error":`) {
		t.Errorf("an unexpected error: %s", r.body)
	}
	if b.check != nil {
		b.check(t, r)
	}
}

// isToolError: the error is told in the result, for a model to act on.
func isToolError(t *testing.T, r *reply) {
	t.Helper()
	if got := r.result(); got["isError"] != true || text(t, got) == "" {
		t.Errorf("want a result with isError and a text: %v", got)
	}
}

// hasHeader: the response names what is allowed, or the like.
func hasHeader(name, part string) func(*testing.T, *reply) {
	return func(t *testing.T, r *reply) {
		t.Helper()
		if got := r.header.Get(name); !strings.Contains(got, part) {
			t.Errorf("header %s is %q, want %q in it", name, got, part)
		}
	}
}

// TestBadInput sends everything that may come in wrong, in every revision: the status and the code are
// part of the interface.
func TestBadInput(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	_, e := startFixture(t)
	t.Run("transport", func(t *testing.T) { badTransport(t, e) })
	for _, version := range stateful {
		t.Run(version, func(t *testing.T) {
			s := newSession(t, e.URL, version)
			for _, b := range concat(badMessages, badSessions, badVersions(version), badRequests(version), badBatches(version)) {
				t.Run(b.name, func(t *testing.T) { b.run(t, s.caller, s.headers()...) })
			}
			s.request("ping", "").want(http.StatusOK) // the session has survived it all
		})
	}
	t.Run("before a session", func(t *testing.T) {
		c := newCaller(t, e.URL)
		for _, b := range badHandshakes {
			t.Run(b.name, func(t *testing.T) { b.run(t, c) })
		}
	})
	t.Run(v2026, func(t *testing.T) {
		c := newStateless(t, e.URL)
		for _, b := range badStateless {
			t.Run(b.name, func(t *testing.T) { b.run(t, c.caller) })
		}
	})
}

func concat(tables ...[]bad) []bad {
	var all []bad
	for _, rows := range tables {
		all = append(all, rows...)
	}
	return all
}
