package app

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// The transports log refusals together: each of its own would have a line for every reason.
func TestTransportsShareTheLogOfRefusals(t *testing.T) {
	a := &App{auth: &auth.Authenticator{}}
	first, second := a.authenticator().(observedAuthenticator), a.authenticator().(observedAuthenticator)
	if first.log != second.log {
		t.Error("two transports have a log of refusals each")
	}
	if (&App{}).authenticator() != nil {
		t.Error("an edge without authentication has an authenticator")
	}
}

// Repeated refusals are logged once every ten seconds for each reason, with their number.
func TestRefusalsAreLoggedSometimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		f := &refusals{log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))}
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
		from := netip.MustParseAddr("192.0.2.7")
		expired := &web.Denial{Status: 401, Reason: "expired", Issuer: "https://id", Message: "the access token has expired: get a new one"}
		for range 1000 {
			f.refused("mcp", from, expired)
		}
		f.refused("mcp", netip.Addr{}, &web.Denial{Status: 401, Reason: "missing", Message: "who?"})
		lines(
			`level=INFO msg="credentials were refused" reason=expired status=401 listener=mcp address=192.0.2.7 issuer=https://id error="the access token has expired: get a new one" refused=1`,
			`reason=missing status=401 listener=mcp address="" issuer="" error=who? refused=1`,
		)
		time.Sleep(refusalsEvery)
		f.refused("mcp", from, expired)
		f.refused("mcp", from, expired)
		lines("refused=1000")
		time.Sleep(refusalsEvery)
		f.refused("mcp", from, expired)
		lines("refused=2")
		key := func(name string) *web.Denial {
			return &web.Denial{Status: 401, Reason: "expired", Issuer: auth.APIKeyIssuer, Caller: mcp.Principal{Issuer: auth.APIKeyIssuer, Subject: name}, Message: "the API key has expired"}
		}
		f.refused("mcp", from, key("one"))
		f.refused("mcp", from, key("two"))
		f.refused("mcp", from, key("one"))
		lines(`reason=expired status=401 listener=mcp address=192.0.2.7 issuer=mcpedge:api-keys error="the API key has expired" refused=1 subject=one`, "subject=two")
	})
}
