package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// refusedWith matches the status in a note of an explanation.
var refusedWith = regexp.MustCompile(`note .* with (40[134])\b`)

// TestExplanationsOfSets: what `mcpedge policy explain` says of a caller in a set is what its endpoint answers.
func TestExplanationsOfSets(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	id, service := issuer.Serve(t), startService(t, newFixture().Server)
	cfg := harness.Config(only(service)...)
	withAuth(id)(&cfg)
	all := config.SetMembers{Backends: config.Names{cfg.Backends[0].Name}}
	cfg.Policy = &config.Policy{Default: "allow"}
	cfg.Sets = map[string]config.Set{
		"open": {Include: all}, "root": {Include: all, AcceptRoot: true},
		"when":   {Include: all, AcceptRoot: true, When: new(`principal.claims.team == "a"`)},
		"scopes": {Include: all, AcceptRoot: true, When: new(`principal.claims.team == "a"`), Scopes: config.Names{"set:use"}},
	}
	past := time.Now().Add(-time.Hour).Unix()
	a, scoped := map[string]any{"team": "a"}, map[string]any{"team": "a", "scope": "set:use"}
	type credentials struct {
		audience string
		changes  map[string]any
	}
	tokens := map[string]credentials{
		"the root's": {"", a}, "/mcp's": {"/mcp", scoped}, "open's": {"/mcp/open", a}, "when's": {"/mcp/when", scoped}, "no set's": {"/mcp/nix", a},
		"elsewhere": {"/other", a}, "another team's": {"", map[string]any{"team": "b"}}, "without a team": {"", nil}, "scoped": {"", scoped},
		"expired": {"", map[string]any{"team": "b", "exp": past}}, "expired at another set": {"/mcp/open", map[string]any{"exp": past}},
	}
	answered := map[int]int{}
	for _, root := range []string{"", config.RootOff, "when"} {
		cfg.Root = root
		e := harness.Start(t, cfg)
		for _, set := range []string{"", "open", "root", "when", "scopes"} {
			path := "/mcp"
			if set != "" {
				path += "/" + set
			}
			for name, c := range tokens {
				claims := id.Claims("alice", public+c.audience)
				for key, value := range c.changes {
					claims[key] = value
				}
				raw, err := json.Marshal(claims)
				if err != nil {
					t.Fatal(err)
				}
				want := http.StatusOK
				var out bytes.Buffer
				if err := app.ExplainPolicy(t.Context(), cfg, app.Question{Claims: raw, Set: set, Tool: "add"}, &out); err != nil {
					t.Fatalf("root %q, %s, %s: %v", root, path, name, err)
				}
				for _, m := range refusedWith.FindAllSubmatch(out.Bytes(), -1) {
					said := map[string]int{"401": http.StatusUnauthorized, "403": http.StatusForbidden, "404": http.StatusNotFound}[string(m[1])]
					if want != http.StatusOK && want != said {
						t.Errorf("root %q, %s, %s: two answers: %s", root, path, name, out.String())
					}
					want = said
				}
				r := callerAt(t, e, path, id.Sign(claims, nil)).send(t, http.MethodPost, hello)
				if answered[r.status]++; r.status != want {
					t.Errorf("root %q, %s, %s: the edge answers %d, explained is %d: %s", root, path, name, r.status, want, out.String())
				}
			}
		}
		e.End(t)
	}
	for _, status := range []int{200, 401, 403, 404} {
		if answered[status] == 0 {
			t.Errorf("no request is answered with %d", status)
		}
	}
}

// TestExplanationsOfSetsForOthers: explains for callers without a token, and with an API key, what the edge answers at a set.
func TestExplanationsOfSetsForOthers(t *testing.T) {
	t.Parallel() // it waits for most of its time
	const key = "the-key-of-a-machine"
	sum := sha256.Sum256([]byte(key))
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(keys, []byte("- {name: ci, sha256: "+hex.EncodeToString(sum[:])+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id, service := issuer.Serve(t), startService(t, newFixture().Server)
	cfg := harness.Config(only(service)...)
	withAuth(id)(&cfg)
	cfg.Auth.APIKeys, cfg.Auth.Optional = keys, true
	all := config.SetMembers{Backends: config.Names{cfg.Backends[0].Name}}
	cfg.Policy = &config.Policy{Default: "allow"}
	cfg.Sets = map[string]config.Set{
		"open": {Include: all}, "scopes": {Include: all, Scopes: config.Names{"set:use"}}, "people": {Include: all, When: new("!principal.anonymous")},
	}
	e := harness.Start(t, cfg)
	for set, want := range map[string][2]int{"open": {200, 200}, "scopes": {401, 403}, "people": {404, 200}} {
		for i, token := range []string{"", key} {
			q := app.Question{Set: set, Tool: "add"}
			if token != "" {
				q.APIKey = "ci"
			}
			var out bytes.Buffer
			if err := app.ExplainPolicy(t.Context(), cfg, q, &out); err != nil {
				t.Fatal(err)
			}
			said := "200"
			if m := refusedWith.FindSubmatch(out.Bytes()); m != nil {
				said = string(m[1])
			}
			if r := callerAt(t, e, "/mcp/"+set, token).send(t, http.MethodPost, hello); r.status != want[i] || said != fmt.Sprint(want[i]) {
				t.Errorf("%s, caller %q: the edge answers %d, explained is %s, want %d: %s", set, token, r.status, said, want[i], out.String())
			}
		}
	}
}
