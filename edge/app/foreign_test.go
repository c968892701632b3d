package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Requests that are refused for their host or origin are logged once every ten seconds for each
// reason and listener, with their number, and are all counted.
func TestForeignRequestsAreLoggedSometimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		f := newForeign(slog.New(slog.NewTextHandler(&log, nil)), web.Proxies{})
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		lines := func(want ...string) {
			t.Helper()
			got := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
			if log.Reset(); len(got) != len(want) {
				t.Fatalf("there are %d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
			}
			for i := range want {
				if !strings.Contains(got[i], want[i]) {
					t.Errorf("%s does not have %s", got[i], want[i])
				}
			}
		}
		for range 1000 {
			f.on("mcp")(r, web.ReasonHost, "another name")
		}
		f.on("admin")(r, web.ReasonHost, "here, too")
		f.on("mcp")(r, web.ReasonOrigin, "another page")
		lines(
			`level=INFO msg="a request was refused for its host or origin" reason=host listener=mcp address=192.0.2.1 error="another name" refused=1`,
			`reason=host listener=admin address=192.0.2.1 error="here, too" refused=1`,
			`reason=origin listener=mcp address=192.0.2.1 error="another page" refused=1`,
		)
		time.Sleep(refusalsEvery)
		f.on("mcp")(r, web.ReasonHost, "another name")
		lines("refused=1000")
		if f.counts[web.ReasonHost] != 1002 || f.counts[web.ReasonOrigin] != 1 {
			t.Errorf("counted are %v", f.counts)
		}
	})
}
