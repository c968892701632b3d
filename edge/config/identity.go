package config

import (
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// validateIdentity calls wrong for each mistake in the Identity of a backend and the settings that it
// needs.
func (c *Config) validateIdentity(b *Backend, wrong wrongs) {
	if b.Exchange != nil && b.Identity != IdentityExchange {
		wrong("exchange is for identity: exchange: set it, or take exchange out")
	}
	switch b.Identity {
	case "", IdentityPrincipal:
	case IdentitySigned:
		if c.Server.SigningKey == "" {
			wrong("identity: signed needs a key to sign with: give a PEM file in server.signing-key, made with: openssl genpkey -algorithm ed25519")
		}
	case IdentityExchange:
		if !c.Exchanges() {
			wrong("identity: exchange needs an issuer that exchanges tokens: give one exchange: {client-id, client-secret-file} in auth.issuers")
		}
		b.validateExchange(wrong)
	default:
		wrong("identity: %q: use principal, signed or exchange", b.Identity)
	}
}

// validateExchange checks the Exchange of a backend.
func (b *Backend) validateExchange(wrong wrongs) {
	x := b.Exchange
	if x == nil {
		return
	}
	if x.Resource != "" && notURL(x.Resource) != "" {
		wrong("exchange.resource: %q %s: give the URL of the backend as its issuer knows it, or audience", x.Resource, notURL(x.Resource))
	}
	for _, scope := range x.Scopes {
		if why := mcp.NotScope(scope); why != "" {
			wrong("exchange.scopes: %q %s", scope, why)
		}
	}
}

// Exchanges reports whether an issuer exchanges tokens, so that backends, including those of later
// generations, may have IdentityExchange.
func (c *Config) Exchanges() bool {
	return c.Auth != nil && slices.ContainsFunc(c.Auth.Issuers, func(i Issuer) bool { return i.Exchange != nil })
}
