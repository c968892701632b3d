package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// A principal has a value by each name that is one, as text; what is no text, number or boolean is none.
func TestCallerValues(t *testing.T) {
	p := &Principal{Subject: "ann", Issuer: "https://i", Client: "c", Scopes: []string{"a", "b"}, Roles: []string{"r"}, Forwarded: map[string]json.RawMessage{
		"tenant": []byte(`"acme"`), "n": []byte(`9007199254740993`), "yes": []byte(`true`), "null": []byte(`null`), "list": []byte(`["a"]`), "a.b": []byte(`"dots"`),
	}}
	for name, want := range map[string]string{
		"principal.subject": "ann", "principal.issuer": "https://i", "principal.client_id": "c", "principal.scopes": "a b", "principal.roles": "r",
		"principal.claims.tenant": "acme", "principal.claims.n": "9007199254740993", "principal.claims.yes": "true", "principal.claims.null": "",
		"principal.claims.list": "", "principal.claims.absent": "", "principal.claims.a.b": "dots",
	} {
		v, ok := CallerValueOf(name)
		if got := v.Of(p); !ok || got != want || v.String() != name {
			t.Errorf("%s is %q, %t, want %q", name, got, ok, want)
		}
		if claim := strings.TrimPrefix(name, "principal.claims."); claim != name && v.Claim() != claim || claim == name && v.Claim() != "" {
			t.Errorf("%s is of the claim %q", name, v.Claim())
		}
		if got := v.Of(&Principal{}); got != "" {
			t.Errorf("nobody has %s: %q", name, got)
		}
	}
	for _, name := range []string{"", "subject", "principal", "principal.claims", "principal.claims.", "principal.token"} {
		if _, ok := CallerValueOf(name); ok {
			t.Errorf("%q is taken", name)
		}
	}
	for text, want := range map[string]string{
		"": "", "Bearer a~b": "", " a": "spaces", "a\n": "ASCII", "ü": "ASCII", strings.Repeat("x", 4096): "", strings.Repeat("x", 4097): "4 KiB",
	} {
		if got := NotMetadataValue(text); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.20q %q, want %q", text, got, want)
		}
	}
}
