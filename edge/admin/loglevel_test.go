package admin

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/backend"
)

type ready struct{}

func (ready) Ready() error { return nil }

func TestLogLevel(t *testing.T) {
	pool, err := backend.NewPool(nil, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	level := new(slog.LevelVar)
	h := New(ready{}, pool, Options{Level: level})
	for _, c := range []struct {
		method, body string
		status       int
		want         slog.Level
		answer       string
	}{
		{"GET", "", 200, slog.LevelInfo, "info"},
		{"PUT", "debug\n", 200, slog.LevelDebug, "debug"},
		{"PUT", "WARN", 200, slog.LevelWarn, "warn"},
		{"PUT", "loud", 400, slog.LevelWarn, `"loud" is not a level`},
		{"PUT", strings.Repeat("x", 100), 400, slog.LevelWarn, "is not a level"},
		{"PUT", "", 400, slog.LevelWarn, "is not a level"},
		{"POST", "error", 405, slog.LevelWarn, ""},
		{"GET", "", 200, slog.LevelWarn, "warn"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, "/loglevel", strings.NewReader(c.body)))
		if w.Code != c.status || level.Level() != c.want || !strings.Contains(w.Body.String(), c.answer) {
			t.Errorf("%s %q: status %d, level %s, %q; want %d, %s, %q", c.method, c.body, w.Code, level.Level(), w.Body, c.status, c.want, c.answer)
		}
	}
	w := httptest.NewRecorder()
	New(ready{}, pool, Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/loglevel", strings.NewReader("debug")))
	if w.Code != http.StatusNotFound {
		t.Errorf("a level that cannot be changed: status %d", w.Code)
	}
}
