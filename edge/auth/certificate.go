package auth

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net/http"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// CertificateIssuer is the issuer of principals that authenticate with a client certificate. It is
// not a URL, so it cannot be that of an authorization server.
const CertificateIssuer = "mcpedge:client-certificates"

// Certificates authenticates callers by the client certificate of their connection. A request with
// an Authorization header, or a token in its query, is authenticated by that alone. The listener
// verifies certificates in the handshake.
type Certificates struct {
	// Setting is the setting with the file of CAs, for messages: admin.tls.client-ca.
	Setting string
	// Accepts returns why the current CAs do not accept a certificate, which comes with its
	// intermediates, or nil. The file may have changed since the handshake, and the certificate may
	// have expired.
	Accepts func(chain []*x509.Certificate) error
	// Scope is the scope of callers with a certificate. Empty means none.
	Scope string
	// Else authenticates requests without a certificate or with other credentials. nil refuses
	// them.
	Else web.Authenticator
}

var _ web.Authenticator = (*Certificates)(nil)

// Authenticate implements web.Authenticator.
func (c *Certificates) Authenticate(r *http.Request) (mcp.Principal, *web.Denial) {
	if c.Else != nil && (len(r.Header["Authorization"]) > 0 || inQuery(r)) {
		return c.Else.Authenticate(r)
	}
	p, why := c.identify(r)
	switch {
	case why == "":
		return p, nil
	case c.Else == nil:
		return mcp.Principal{}, &web.Denial{Status: http.StatusForbidden, Message: why, Reason: ReasonMissing.String()}
	}
	p, denied := c.Else.Authenticate(r)
	if denied != nil && denied.Status == http.StatusUnauthorized {
		denied.Message += "; or " + why
	}
	return p, denied
}

// identify returns the principal of the certificate of a request's connection. If there is none,
// why is the reason, with advice. Otherwise why is empty.
func (c *Certificates) identify(r *http.Request) (_ mcp.Principal, why string) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return mcp.Principal{}, "a client certificate is required: send one issued by a CA of " + c.Setting
	}
	chain := r.TLS.PeerCertificates
	if err := c.Accepts(chain); err != nil {
		return mcp.Principal{}, "the client certificate of this connection is not accepted any more, " + err.Error() +
			": connect again with one issued by a CA of " + c.Setting
	}
	subject := certificateName(chain[0])
	if checkSubject(subject) != nil {
		return mcp.Principal{}, "the client certificate has no usable name: it needs a subject, a URI, an email address or a DNS name, in printable characters"
	}
	sum := sha256.Sum256(chain[0].Raw)
	p := mcp.Principal{Issuer: CertificateIssuer, Subject: subject, TokenID: hex.EncodeToString(sum[:]), Until: chain[0].NotAfter}
	if c.Scope != "" {
		p.Scopes = []string{c.Scope}
	}
	return p, ""
}

// certificateName returns the subject of a certificate in the form of RFC 2253, or else its first
// alternative name: a URI, an email address or a DNS name. Empty means none.
func certificateName(c *x509.Certificate) string {
	name := c.Subject.String()
	switch {
	case name != "":
	case len(c.URIs) > 0:
		name = c.URIs[0].String()
	case len(c.EmailAddresses) > 0:
		name = c.EmailAddresses[0]
	case len(c.DNSNames) > 0:
		name = c.DNSNames[0]
	}
	return name
}
