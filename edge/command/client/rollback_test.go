package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command posts to the admin address with the token. It prints the settings in force, or the
// reason for which nothing changed.
func TestRollback(t *testing.T) {
	var seen *http.Request
	status, body := http.StatusOK, `{"settings":{"file":"edge.yaml","generation":"3","digest":"0a1b"}}`
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer admin.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		var out strings.Builder
		err := Rollback(t.Context(), args, &out, io.Discard)
		return out.String(), err
	}
	out, err := run("--token-file", token, admin.URL+"/")
	if err != nil || out != "generation 3 with the digest 0a1b is in force, until edge.yaml, a file that it includes or the file of its catalog-lock changes\n" {
		t.Errorf("%q, %v", out, err)
	}
	if seen.Method != http.MethodPost || seen.URL.Path != "/v1/settings/rollback" || seen.Header.Get("Authorization") != "Bearer secret" || seen.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s with %v", seen.Method, seen.URL, seen.Header)
	}
	status, body = http.StatusBadRequest, `{"code":9,"message":"no other settings were in force"}`
	if _, err := run(admin.URL); err == nil || !strings.Contains(err.Error(), "400 Bad Request: no other settings") {
		t.Error(err)
	}
	status, body = http.StatusNotFound, "not here"
	if _, err := run(admin.URL); err == nil || !strings.Contains(err.Error(), "not the admin address") {
		t.Error(err)
	}
	for want, args := range map[string][]string{
		"write mcpedge catalog rollback URL": {}, "2 arguments": {admin.URL, "x"},
		"is not a URL of an admin address": {"127.0.0.1"}, "--token-file": {admin.URL, "--token-file", token + ".gone"},
	} {
		if _, err := run(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}
