package client

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The commands post their arguments to the admin address. They print each changed object as one
// line, or the reason for which nothing changed.
func TestDisableAndEnable(t *testing.T) {
	var seen, sent string
	status, body := http.StatusOK, ""
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		seen, sent = r.Method+" "+r.URL.Path, string(raw)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer admin.Close()
	var out strings.Builder
	for _, c := range []struct {
		do         func(args ...string) error
		args       []string
		body       string
		seen, sent string
		out        string
	}{
		{
			do:   func(args ...string) error { return Disable(t.Context(), args, &out, io.Discard) },
			args: []string{"crm_export", "--reason", "it leaks", "--backend", "crm", admin.URL + "/"},
			body: `{"disabled":{"kind":"tool","name":"crm_export","backend":"crm"},"unlisted":true}`,
			seen: "POST /v1/catalog/disable", sent: `{"name":"crm_export","backend":"crm","reason":"it leaks"}`,
			out: "the tool crm_export of the backend crm is disabled until it is enabled again: " + follows(false) + "\n" +
				"its backend lists no such tool now, or only to some callers: check the name\n",
		},
		{
			do:   func(args ...string) error { return Disable(t.Context(), args, &out, io.Discard) },
			args: []string{"s", admin.URL},
			body: `{"disabled":{"kind":"set","name":"s"},"replaced":{"kind":"set","name":"s","reason":"leaks","since":"2026-01-02T03:04:05Z","operator":{"subject":"ada"}},"thisProcessOnly":true}`,
			seen: "POST /v1/catalog/disable", sent: `{"name":"s"}`,
			out: "the set s is disabled until it is enabled again, and at this replica alone: its state is in its memory, so that no other replica follows, " +
				"and the end of the process enables everything\n" +
				"it was disabled already, since 2026-01-02T03:04:05Z by ada (leaks): the new reason, operator and time replace these\n",
		},
		{
			do:   func(args ...string) error { return Enable(t.Context(), args, &out, io.Discard) },
			args: []string{"--kind", "set", "s", admin.URL}, body: `{"enabled":{"kind":"set","name":"s"}}`,
			seen: "POST /v1/catalog/enable", sent: `{"name":"s","kind":"set"}`,
			out: "the set s is enabled: " + follows(false) + "\n",
		},
		{
			do:   func(args ...string) error { return Disabled(t.Context(), args, &out, io.Discard) },
			args: []string{admin.URL}, body: `{}`,
			seen: "GET /v1/catalog/disabled", out: "nothing is disabled\n",
		},
		{
			do:   func(args ...string) error { return Disabled(t.Context(), args, &out, io.Discard) },
			args: []string{admin.URL},
			body: `{"disabled":[{"kind":"set","name":"s","backend":"","reason":"two\nlines","since":"2026-01-02T03:04:05Z","operator":{"subject":"ada"}}]}`,
			seen: "GET /v1/catalog/disabled", out: "KIND\tNAME\tBACKEND\tSINCE\tOPERATOR\tREASON\nset\ts\t\t2026-01-02T03:04:05Z\tada\t" + printable("two\nlines") + "\n",
		},
	} {
		out.Reset()
		body, status = c.body, http.StatusOK
		if err := c.do(c.args...); err != nil || seen != c.seen || sent != c.sent || out.String() != c.out {
			t.Errorf("%q: %v, sent %s %s, printed %q", c.args, err, seen, sent, &out)
		}
		body, status = `{"code":5,"message":"there is no tool"}`, http.StatusNotFound
		if err := c.do(c.args...); err == nil || !strings.Contains(err.Error(), "404 Not Found: there is no tool") ||
			strings.HasSuffix(err.Error(), "; for such a tool, add --backend NAME of its backend") != (c.args[0] == "s") {
			t.Errorf("%q: %v", c.args, err)
		}
		body, status = "<html>", http.StatusOK
		if err := c.do(c.args...); err == nil || !strings.Contains(err.Error(), "not the admin address") {
			t.Errorf("%q: %v", c.args, err)
		}
		if err := c.do("--help"); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("help: %v", err)
		}
		if err := c.do("a", admin.URL, "more"); err == nil || !strings.Contains(err.Error(), "3 arguments") {
			t.Errorf("too many: %v", err)
		}
	}
}
