package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestBoundTokens: a client whose token is bound to its key proves that with each request, in every revision and over every
// transport; each proof is good once, at whichever replica, and for its request alone.
func TestBoundTokens(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, client := issuer.Serve(t), issuer.NewProver()
	_, edges, _ := startReplicas(t, 2, withAuth(id), func(c *config.Config) { c.Auth.DPoP = config.DPoPAccept })
	token := id.Token("alice", public, client.Bound())
	with := func(proof string) []string { return []string{"Authorization", "DPoP " + token, "DPoP", proof} }
	requests := map[string]struct {
		path, method, body string
		headers            []string
		served             int
	}{
		"SSE, GET":            {"/sse", "GET", "", nil, 200},
		"SSE, POST":           {"/message?sessionId=none", "POST", envelope("", "notifications/initialized", ""), nil, 404},
		"DELETE":              {"/mcp", "DELETE", "", []string{"Mcp-Session-Id", "none"}, 404},
		"GET":                 {"/mcp", "GET", "", []string{"Mcp-Session-Id", "none"}, 404},
		v2026 + " tools/list": {"/mcp", "POST", envelope("1", "tools/list", `{"_meta":{`+metaBoth+`}}`), modernHeaders("tools/list", ""), 200},
	}
	for _, v := range stateful {
		r := requests["GET"]
		r.method, r.headers, r.served = "POST", nil, 200
		r.body = envelope("1", "initialize", `{"protocolVersion":"`+v+`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
		requests[v+" initialize"] = r
	}
	for name, r := range requests {
		t.Run(name, func(t *testing.T) {
			url := public + r.path
			proof := client.Proof(r.method, url, token, nil, nil)
			send := func(edge int, proof string) *reply {
				got := newCaller(t, "http://"+edges[edge].Host+r.path).send(t, r.method, r.body, append(with(proof), r.headers...)...)
				if got.stream != nil {
					got.stream.close()
				}
				return got
			}
			if got := send(0, proof); got.status != r.served {
				t.Fatalf("status %d, want %d: %s", got.status, r.served, got.body)
			}
			for what, edge := range map[string]int{"the same replica": 0, "another replica": 1} {
				refusedProof(t, send(edge, proof), "used before: "+what, "used before")
			}
			refusedProof(t, send(1, client.Proof("PUT", url, token, nil, nil)), "another method", "(htm)")
			refusedProof(t, send(1, client.Proof(r.method, "http://"+edges[1].Host+r.path, token, nil, nil)), "the address of the replica", "(htu)")
			refusedProof(t, send(1, issuer.NewProver().Proof(r.method, url, token, nil, nil)), "another key", "another key")
			refusedProof(t, send(1, ""), "none", "the proof is missing")
		})
	}
	stolen := newCaller(t, edges[0].URL).send(t, "POST", "{}", "Authorization", "Bearer "+token)
	if c := stolen.header.Values("WWW-Authenticate"); stolen.status != 401 || len(c) != 2 || !strings.HasPrefix(c[0], `Bearer error="invalid_token"`) || !strings.HasPrefix(c[1], `DPoP scope="mcp:read"`) {
		t.Errorf("a token that was stolen: %d, %q", stolen.status, c)
	}
}

// refusedProof checks the answer to a request whose proof is none.
func refusedProof(t *testing.T, got *reply, name, says string) {
	t.Helper()
	c := got.header.Values("WWW-Authenticate")
	if got.status != http.StatusUnauthorized || len(c) != 2 || strings.Contains(c[0], "error") ||
		!strings.HasPrefix(c[1], `DPoP error="invalid_dpop_proof"`) || !strings.Contains(string(got.body), says) {
		t.Errorf("%s: status %d, %q: %s", name, got.status, c, got.body)
	}
}
