package auth_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// The principal of a certificate is its subject, or else an alternative name, with the scope, until
// it expires.
func TestCertificateNames(t *testing.T) {
	ca := authority.New(t, "ca")
	uri, _ := url.Parse("spiffe://example.com/operator")
	for name, row := range map[string]struct {
		change authority.Option
		// who is the principal; empty if refused
		who string
	}{
		"subject": {func(c *x509.Certificate) {
			c.Subject = pkix.Name{CommonName: "Ann, Ops", Organization: []string{"Acme"}}
		}, `CN=Ann\, Ops,O=Acme`},
		"both": {func(c *x509.Certificate) { c.URIs = []*url.URL{uri} }, "CN=of ca"},
		"URI": {func(c *x509.Certificate) {
			c.Subject, c.URIs, c.DNSNames = pkix.Name{}, []*url.URL{uri}, []string{"a.example"}
		}, uri.String()},
		"address":       {func(c *x509.Certificate) { c.Subject, c.EmailAddresses = pkix.Name{}, []string{"ann@example.com"} }, "ann@example.com"},
		"DNS":           {func(c *x509.Certificate) { c.Subject, c.DNSNames = pkix.Name{}, []string{"a.example"} }, "a.example"},
		"none":          {func(c *x509.Certificate) { c.Subject = pkix.Name{} }, ""},
		"line break":    {func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "ann\nbob"} }, ""},
		"too long":      {func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: strings.Repeat("a", 1100)} }, ""},
		"right to left": {func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "ann\u202e"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pair := ca.Client(t, row.change)
			leaf := pair.TLS(t).Leaf
			by := &auth.Certificates{Setting: "admin.tls.client-ca", Scope: "mcp:operate", Accepts: func(chain []*x509.Certificate) error {
				if len(chain) != 1 || chain[0] != leaf {
					t.Errorf("asked about %d certificates", len(chain))
				}
				return nil
			}}
			r := httptest.NewRequest(http.MethodGet, "/v1/status", nil)
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf, ca.Cert}}}
			p, denied := by.Authenticate(r)
			if row.who == "" {
				if denied == nil || denied.Status != http.StatusForbidden || !strings.Contains(denied.Message, "has no usable name") {
					t.Errorf("%+v, %+v", p, denied)
				}
				return
			}
			if denied != nil || p.Subject != row.who || p.Issuer != auth.CertificateIssuer || len(p.Scopes) != 1 || p.Scopes[0] != "mcp:operate" ||
				p.TokenID != pair.Fingerprint(t) || !p.Until.Equal(leaf.NotAfter) {
				t.Errorf("%+v, %+v", p, denied)
			}
		})
	}
}

// A certificate that was verified once and is not accepted any more is refused, as is an unverified
// one.
func TestCertificateNotAccepted(t *testing.T) {
	ca := authority.New(t, "ca")
	pair := ca.Client(t)
	leaf := pair.TLS(t).Leaf
	by := &auth.Certificates{Setting: "admin.tls.client-ca", Accepts: func([]*x509.Certificate) error { return errors.New("because") }}
	r := httptest.NewRequest(http.MethodGet, "/v1/status", nil)
	for want, state := range map[string]*tls.ConnectionState{
		"is required: send one issued by a CA of admin.tls.client-ca":                    {PeerCertificates: []*x509.Certificate{leaf}},
		"not accepted any more, because: connect again with one issued by a CA of admin": {PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf, ca.Cert}}},
	} {
		r.TLS = state
		if p, denied := by.Authenticate(r); denied == nil || denied.Status != http.StatusForbidden || !strings.Contains(denied.Message, want) {
			t.Errorf("%+v, %+v, want %s", p, denied, want)
		}
	}
}
