package auth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// errorScope is the error of RFC 6750, section 3.1, for a token with insufficient scope.
const errorScope = "insufficient_scope"

// Challenge implements web.Challenger: 401 for missing or expired credentials, 403 for others, with
// all scopes that the request needs.
func (a *Authenticator) Challenge(path string, c *mcp.Challenge) *web.Denial {
	said := challenge{scope: strings.Join(c.Scopes, " "), metadata: a.metadataOf(a.endpointOf(path))}
	status := http.StatusUnauthorized
	switch {
	case c.Anonymous:
		a.refused[ReasonMissing].Add(1)
	case c.Invalid:
		a.refused[ReasonUnknown].Add(1)
		said.failure, said.description = errorToken, errInactive.text
	default:
		a.refused[ReasonScope].Add(1)
		status, said.failure = http.StatusForbidden, errorScope
		said.description = "this needs more scopes: get an access token with the scopes of this challenge"
		if a.onlyKeys() {
			said.description = "this needs more scopes: the operator of this server gives an API key its scopes"
		}
	}
	return &web.Denial{Status: status, Challenges: said.each(a.dpop, "")}
}

// Requiring returns an authenticator that accepts only callers whose credentials have a scope, and
// no anonymous ones. Its challenges name the scope, and the metadata of the whole edge, because the
// guarded address is not an MCP endpoint. It accepts no proofs (DPoP), because clients do not know
// a URL of the guarded address: it refuses bound tokens, and accepts others in every DPoP mode.
func (a *Authenticator) Requiring(scope string) web.Authenticator { return requiring{a, scope} }

type requiring struct {
	a     *Authenticator
	scope string
}

// Authenticate implements web.Authenticator. A caller without the scope gets 403 with its name.
func (q requiring) Authenticate(r *http.Request) (mcp.Principal, *web.Denial) {
	p, from, why := q.a.identify(r, DPoPOff, "")
	switch {
	case why == nil && p.Anonymous():
		why = q.a.missing()
	case why == nil && slices.Contains(p.Scopes, q.scope):
		return p, nil
	}
	metadata := q.a.metadataOf("")
	if why != nil {
		return mcp.Principal{}, q.a.deny(from, why, q.scope, metadata)
	}
	q.a.refused[ReasonScope].Add(1)
	text := "this needs the scope " + q.scope + ", which the credentials do not have: call again with credentials that have it"
	c := challenge{
		scheme: schemeBearer, failure: errorScope, description: text, scope: q.scope, metadata: metadata,
	}
	return mcp.Principal{}, &web.Denial{Status: http.StatusForbidden, Message: text, Challenges: []string{c.String()}, Reason: ReasonScope.String(), Issuer: p.Issuer, Missing: []string{q.scope}, Caller: p}
}
