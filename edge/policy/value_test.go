package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A value is text of what the principal has, as JSON writes it, or there is none, and why.
func TestValues(t *testing.T) {
	who := &mcp.Principal{Subject: "ann", Issuer: "https://i", Client: "c", Scopes: []string{"a", "b"}, Roles: []string{"r", "team admin"}, Forwarded: map[string]json.RawMessage{
		"tenant": []byte(`"acme"`), "n": []byte(`9007199254740993`), "small": []byte(`7`), "half": []byte(`0.5`), "yes": []byte(`true`), "null": []byte(`null`),
		"list": []byte(`["x","y"]`), "mixed": []byte(`["x",1]`), "org": []byte(`{"id":"o1"}`), "a.b": []byte(`"dots"`), "long": []byte(`1.00000000000000000001`),
	}, Claims: map[string]json.RawMessage{"secret": []byte(`"s"`)}}
	for text, c := range map[string]struct{ want, wrong, claims string }{
		"principal.subject":                                {"ann", "", ""},
		"principal.issuer":                                 {"https://i", "", ""},
		"principal.client_id":                              {"c", "", ""},
		"principal.scopes":                                 {"a b", "", ""},
		"principal.roles":                                  {"", `an empty text, or one with a space: "team admin"`, ""}, // or it would be taken for two roles
		"principal.roles[1]":                               {"team admin", "", ""},
		`principal.roles.filter(r, !r.contains(" "))`:      {"r", "", ""},
		`["a", ""]`:                                        {"", "an empty text, or one with a space", ""},
		"principal.anonymous":                              {"false", "", ""},
		"principal.claims.tenant":                          {"acme", "", "tenant"},
		"principal.claims.n":                               {"9007199254740993", "", "n"},
		"principal.claims.small":                           {"7", "", "small"},
		"principal.claims.half":                            {"0.5", "", "half"},
		"principal.claims.yes":                             {"true", "", "yes"},
		`principal.claims["null"]`:                         {"", "", "null"},
		"principal.claims.list":                            {"", "not a text, number", "list"},
		"[principal.claims.n]":                             {"", "a list with elements other than texts", "n"},
		"principal.claims.org":                             {"", "not a text, number", "org"},
		"principal.claims.org.id":                          {"o1", "", "org"},
		`principal.claims["a.b"]`:                          {"dots", "", "a.b"},
		"principal.claims.long":                            {"", "not a text, number", "long"},
		"principal.claims.absent":                          {"", "no such key: absent", "absent"},
		"principal.claims.secret":                          {"", "no such key: secret", "secret"}, // which only rules look at
		`"team-" + principal.claims.tenant`:                {"team-acme", "", "tenant"},
		`has(principal.claims.org.x) ? "y" : "none"`:       {"none", "", "org"},
		`principal.roles.filter(r, r.startsWith("admin"))`: {"", "", ""},
	} {
		v, err := CompileValue(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := v.Of(who)
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s is %q, %v; want %q, %q", text, got, err, c.want, c.wrong)
		}
		if claims := strings.Join(v.Claims(), " "); claims != c.claims || v.String() != text {
			t.Errorf("%s looks at the claims %q", v, claims)
		}
	}
	if _, ok := who.Claims["secret"]; !ok || len(who.Claims) != 1 {
		t.Errorf("the principal was changed: %v", who.Claims)
	}
	for text, want := range map[string]string{
		"": "not a valid expression", "subject": "the variables are principal.anonymous, principal.claims", "principal.claims": "of type map", "principal.claims[principal.subject]": "all claims",
		"principal.token": "undeclared", "tool.name": "undeclared", "arguments.x": "undeclared", `{"a": 1}`: "of type map", `timestamp("2026-01-01T00:00:00Z")`: "of type",
	} {
		if _, err := CompileValue(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A value that goes over lists is bounded.
func TestCostlyValues(t *testing.T) {
	v, err := CompileValue("principal.roles.filter(a, principal.roles.all(b, principal.roles.all(c, c != a + b)))")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Of(&mcp.Principal{Roles: slices.Repeat([]string{"r"}, 200)}); err == nil || !strings.Contains(err.Error(), "cost limit") {
		t.Errorf("200 roles thrice over: %v", err)
	}
}
