package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// TestTimeoutIsNamed: the error of an operation that exceeds --timeout or --wait names the flag and
// the reason for the wait.
func TestTimeoutIsNamed(t *testing.T) {
	hanging := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // reading the body makes the disconnection of the client end the context
		<-r.Context().Done()
	}
	silent := httptest.NewServer(http.HandlerFunc(hanging))
	defer silent.Close()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + addr + "/mcp"
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no answer":       {[]string{silent.URL + "/mcp", "--timeout=100ms"}, []string{"no answer within 100ms", "--timeout"}},
		"no listener":     {[]string{closed, "--wait=300ms"}, []string{"connection refused", "300ms", "--wait"}},
		"a longer wait":   {[]string{closed, "--wait=1m", "--timeout=500ms"}, []string{"no answer within 500ms", "--timeout", "connection refused"}},
		"no time":         {[]string{closed, "--timeout=0s"}, []string{"--timeout 0s: give a duration above 0"}},
		"no unit":         {[]string{closed, "--timeout", "10"}, []string{"flag -timeout: a duration needs its unit: 10s, 10ms or 10m rather than 10"}},
		"no unit of wait": {[]string{closed, "--wait=5"}, []string{"flag -wait: a duration needs its unit"}},
		"a negative wait": {[]string{closed, "--wait=-1s"}, []string{"--wait -1s: give a duration, 0 or above"}},
	} {
		for command, run := range map[string]func() error{
			"call": func() error { return Call(t.Context(), append(c.args, "work"), "test", io.Discard, io.Discard) },
			"list": func() error { return List(t.Context(), c.args, "test", io.Discard, io.Discard) },
		} {
			err := run()
			if err == nil || strings.Contains(err.Error(), "deadline") {
				t.Errorf("%s %s: %v", command, name, err)
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s %s: %q is not in: %v", command, name, want, err)
				}
			}
		}
	}
}

// TestTimeoutOfACall: the error of a call that exceeds --timeout while it runs says that it may have taken effect, too.
func TestTimeoutOfACall(t *testing.T) {
	var called atomic.Bool
	working := (&fake{call: func(_ http.ResponseWriter, r *http.Request, _ string) {
		called.Store(true)
		<-r.Context().Done()
	}}).serve(t)
	// The call must begin within the timeout, for which a machine under load needs longer.
	for within := time.Second; ; within *= 4 {
		err := Call(t.Context(), []string{working, "--timeout=" + within.String(), "--protocol-version=2025-11-25", "work"}, "test", io.Discard, io.Discard)
		if !called.Load() && within < await.Patience {
			continue
		}
		for _, want := range []string{"no answer within " + within.String(), "--timeout", "may have taken effect"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
		return
	}
}
