package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

type everybody struct{ mcp.Principal }

func (e everybody) Authenticate(*http.Request) (mcp.Principal, *web.Denial) { return e.Principal, nil }

// TestOpenSetsCostNothing: the guard of a set that is open to all allocates nothing.
func TestOpenSetsCostNothing(t *testing.T) {
	a := new(App)
	a.current.Store(&generation{Generation: &config.Generation{Sets: map[string]*config.OpenSet{"s": {Set: &overlay.Set{Name: "s"}}}}})
	g, r := setGuard{a, everybody{mcp.Principal{Subject: "alice"}}}, httptest.NewRequest(http.MethodPost, "/mcp/s", nil)
	if n := testing.AllocsPerRun(100, func() {
		if who, denied := g.Authenticate(r); denied != nil || who.Subject != "alice" {
			t.Errorf("%+v, %+v", who, denied)
		}
	}); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}
