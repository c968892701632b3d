package client

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestApprovals: the commands read all pages, send decisions, and print each call as one line
// without control characters.
func TestApprovals(t *testing.T) {
	begun := time.Now()
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
	one := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"approval":"0a","names":["payments","large\n"],"tool":"p_pay","backend":"bank","set":"s","requester":{"subject":"ann\u202e","issuer":"https://id"},`+
			`"message":"Pay\u001b[2K?\n\nArguments: {\"to\":\"bob\"}\r","createTime":%q,"expireTime":%q}`, id, at(-10*time.Minute), at(time.Hour))
	}
	var seen, sent string
	answers := map[string]string{
		"/v1/approvals?pageToken=":    `{"approvals":[],"nextPageToken":"a b"}`,
		"/v1/approvals?pageToken=a+b": `{"approvals":[` + one("t1") + `],"nextPageToken":"c"}`,
		"/v1/approvals?pageToken=c":   `{"approvals":[` + one("t2") + `]}`,
		"/v1/approvals/t1":            `{"approval":` + one("t1") + `}`,
		"/v1/approvals/t1:grant":      `{"approval":` + one("t1") + `}`,
		"/v1/approvals/t1:refuse":     `{"approval":` + one("t1") + `}`,
	}
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		seen, sent = r.Method+" "+r.RequestURI, string(raw)
		answer, known := answers[r.RequestURI]
		if !known {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"code":5,"message":"no call with this id waits"}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer admin.Close()
	// run returns what a command prints, with the ages and the remaining times as they were at the beginning of the test.
	run := func(args ...string) (string, error) {
		var out strings.Builder
		err := Approvals(t.Context(), args, &out, io.Discard)
		text := out.String()
		for d := time.Second; d <= time.Since(begun)+time.Second; d += time.Second {
			text = strings.ReplaceAll(text, (10*time.Minute + d).String(), "10m0s")
			text = strings.ReplaceAll(text, (time.Hour - d).String(), "1h0m0s")
		}
		return text, err
	}
	const line = "\t10m0s\t1h0m0s\tann\\u202e\tp_pay\tbank\ts\tpayments, large\\n\n"
	call := `the call of the tool p_pay of the backend bank by ann\u202e`
	for _, c := range []struct {
		args            []string
		seen, sent, out string
	}{
		{[]string{"list", admin.URL}, "GET /v1/approvals?pageToken=c", "", "ID\tAGE\tEXPIRES IN\tREQUESTER\tTOOL\tBACKEND\tSET\tAPPROVALS\nt1.0a" + line + "t2.0a" + line},
		{[]string{"grant", "t1.0a", admin.URL + "/"}, "POST /v1/approvals/t1:grant", `{"approval":"0a"}`, "granted: " + call + " is decided on again, and runs unless it needs approvals that you cannot give: then it waits again\n"},
		{[]string{"refuse", "--reason", "not now", "t1.0b", admin.URL}, "POST /v1/approvals/t1:refuse", `{"approval":"0b","reason":"not now"}`, "refused: " + call + " does not run\n"},
	} {
		if out, err := run(c.args...); err != nil || seen != c.seen || sent != c.sent || out != c.out {
			t.Errorf("%q: %v, sent %s %s, printed %q", c.args, err, seen, sent, out)
		}
	}
	if out, err := run("show", "t1", admin.URL); err != nil || !strings.HasPrefix(out, "id:         t1.0a\n") {
		t.Errorf("%v, printed %q", err, out)
	}
	out, err := run("show", "t1.0a", admin.URL)
	for _, want := range []string{
		"id:         t1.0a\napprovals:  payments, large\\n\nrequester:  ann\\u202e of https://id\ntool:       p_pay\nbackend:    bank\nset:        s\nsince:      ", " (10m0s ago)\nexpires:    ",
		" (in 1h0m0s)\n\nPay\\x1b[2K?\n\nArguments: {\"to\":\"bob\"}\\r\n",
	} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v, printed %q, want %q", err, out, want)
		}
	}
	answers["/v1/approvals?pageToken="] = `{}`
	if out, err := run("list", admin.URL); err != nil || out != "no call waits for an approval\n" {
		t.Errorf("%q, %v", out, err)
	}
	for want, args := range map[string][]string{
		"404 Not Found: no call with this id waits": {"show", "gone", admin.URL}, "approvals: write mcpedge approvals list": {}, "2 arguments": {"list", admin.URL, "x"},
		`approvals grant: "" is not an id: write mcpedge approvals grant ID`: {"grant"}, "is not an id: write mcpedge approvals refuse ID": {"refuse", admin.URL}, "3 arguments": {"show", "t1", admin.URL, "x"},
		`approvals grant: "t1" names no approval: write mcpedge approvals grant ID`: {"grant", "t1", admin.URL}, `approvals refuse: "t1" names no approval`: {"refuse", "t1.", admin.URL},
		`approvals show: the approval "0b" does not wait any more: the call waits for another one; write mcpedge approvals show t1.0a`: {"show", "t1.0b", admin.URL},
	} {
		if _, err := run(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	for _, args := range [][]string{{"--help"}, {"list", "--help"}, {"refuse", "--help"}} {
		if _, err := run(args...); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
