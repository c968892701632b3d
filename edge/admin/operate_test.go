package admin

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// acts is an Auditor. err refuses every act.
type acts struct {
	err   error
	lines []string
}

func (a *acts) Operate(_ context.Context, act *Act) (func(string), error) {
	a.lines = append(a.lines, fmt.Sprint(act.Operator.Subject, " ", act.Method, " ", act.Target, " from ", act.Address))
	return func(outcome string) { a.lines = append(a.lines, outcome) }, a.err
}

// olga lets everybody in as one operator.
type olga struct{}

func (olga) Authenticate(*http.Request) (mcp.Principal, *web.Denial) {
	return mcp.Principal{Subject: "olga", Issuer: "https://id"}, nil
}

// A change of the log level is recorded with the operator's principal. It has no effect if it
// cannot be recorded.
func TestLevelsAreRecorded(t *testing.T) {
	pool, err := backend.NewPool(nil, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		auth   web.Authenticator
		err    error
		status int
		level  slog.Level
		lines  []string
	}{
		{olga{}, nil, 200, slog.LevelWarn, []string{"olga admin/loglevel warn from 192.0.2.1", "ok"}},
		{nil, nil, 200, slog.LevelWarn, []string{"admin admin/loglevel warn from 192.0.2.1", "ok"}},
		{olga{}, &mcp.Error{Kind: mcp.KindStateUnavailable, Message: "not recorded", RetryAfter: 5 * time.Second}, 503, slog.LevelInfo, []string{"olga admin/loglevel warn from 192.0.2.1"}},
	} {
		a, level := &acts{err: x.err}, new(slog.LevelVar)
		h := New(ready{}, pool, Options{Level: level, Audit: a, Auth: x.auth})
		for _, body := range []string{"warn", "loud"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/loglevel", strings.NewReader(body)))
			if body == "warn" && (w.Code != x.status || w.Code == 503 && w.Header().Get("Retry-After") != "5") {
				t.Errorf("%d, %v: %s", w.Code, w.Header(), w.Body)
			}
		}
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/loglevel", nil))
		if level.Level() != x.level || !slices.Equal(a.lines, x.lines) {
			t.Errorf("%s, recorded %q", level, a.lines)
		}
	}
}
