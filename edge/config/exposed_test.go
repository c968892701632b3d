package config

import (
	"strings"
	"testing"
)

// Credentials that are sent over the network without TLS are noted with their setting. Connections
// on this machine are not.
func TestExposed(t *testing.T) {
	for target, exposed := range map[string]bool{
		"crm:50051": true, "dns:///crm.internal:50051": true, "dns://8.8.8.8/crm:50051": true, "10.0.0.1:1": true, "crm": true,
		"ipv4:127.0.0.1:1,10.0.0.1:1": true, "dns://127.0.0.1/crm:1": true, "": true, "unix.example:1": true,
		"localhost:1": false, "127.0.0.1:1": false, "[::1]:1": false, "dns:///localhost:1": false, "dns:localhost": false, "passthrough:///127.0.0.2:1": false,
		"ipv4:127.0.0.1:1,127.0.0.2:1": false, "ipv6:[::1]:1": false, "unix:/run/crm.sock": false, "unix:///run/crm.sock": false, "unix-abstract:crm": false,
	} {
		for identity, want := range map[string]bool{IdentityExchange: true, IdentitySigned: true, IdentityPrincipal: false, "": false} {
			c := Config{Backends: []Backend{{Name: "other", Target: "h:1"}, {Name: "crm", Target: target, Identity: identity}}}
			notes := c.Exposed()
			if want = want && exposed; (len(notes) == 1) != want {
				t.Errorf("%q with identity %q: %q", target, identity, notes)
			} else if want && (!strings.Contains(notes[0], "backends[1] crm: identity: "+identity) || !strings.Contains(notes[0], "set tls")) {
				t.Errorf("%q", notes)
			}
			c.Backends[1].TLS = &TLS{}
			if notes := c.Exposed(); len(notes) != 0 {
				t.Errorf("with TLS: %q", notes)
			}
		}
	}
	c := Config{Backends: []Backend{{Name: "crm", Target: "crm:1", Metadata: map[string]MetadataValue{"x-a": {Value: "a"}, "x-b": {File: "b"}, "x-c": {From: "principal.subject"}}}}}
	if notes := c.Exposed(); len(notes) != 1 || !strings.Contains(notes[0], "backends[0] crm: metadata.x-b is sent to crm:1 without TLS") {
		t.Errorf("a secret in metadata: %q", notes)
	}
	for name, c := range map[string]struct {
		issuer Issuer
		want   []string
	}{
		"https":             {Issuer{Issuer: "https://id", JWKS: "https://id/jwks", Introspection: &Introspection{URL: "https://id/i"}, Exchange: &IssuerExchange{URL: "https://id/t"}}, nil},
		"on this machine":   {Issuer{Issuer: "http://localhost:8180", Introspection: &Introspection{URL: "http://127.0.0.1/i"}, Exchange: &IssuerExchange{}}, nil},
		"keys from a file":  {Issuer{Issuer: "http://id", JWKS: "keys.json"}, nil},
		"keys that are not": {Issuer{Issuer: "https://id", JWKS: "http://id/jwks"}, []string{"https://id: jwks: "}},
		"metadata":          {Issuer{Issuer: "http://id", Exchange: &IssuerExchange{}}, []string{"its metadata and keys", "exchange: the edge's secret"}},
		"introspection":     {Issuer{Issuer: "https://id", Introspection: &Introspection{URL: "http://id/i"}}, []string{"introspection.url: "}},
		"exchange":          {Issuer{Issuer: "https://id", Exchange: &IssuerExchange{URL: "http://id/t"}}, []string{"exchange: "}},
	} {
		cfg := Config{Auth: &Auth{Issuers: []Issuer{c.issuer}}}
		notes := cfg.Exposed()
		if len(notes) != len(c.want) {
			t.Errorf("%s: %q", name, notes)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(notes[i], "auth.issuers[0] ") || !strings.Contains(notes[i], want) {
				t.Errorf("%s: %q", name, notes[i])
			}
		}
	}
}
