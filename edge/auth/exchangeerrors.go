package auth

import (
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// impossible returns why there is nothing to exchange.
func (x *Exchanger) impossible(who *mcp.Principal, from *exchangeIssuer) *mcp.Error {
	switch {
	case who.Anonymous():
		return &mcp.Error{
			Kind: mcp.KindUnauthenticated, Challenge: &mcp.Challenge{Anonymous: true},
			Message: fmt.Sprintf("the backend %q requires a token of the caller: call over HTTP with an access token in the header Authorization: Bearer", x.backend),
		}
	case from == nil:
		return mcp.Errorf(mcp.KindForbidden, "the backend %q requires a token of the caller, and these credentials cannot be exchanged for one: "+
			"call with an access token of an issuer for which the edge exchanges tokens", x.backend)
	}
	return &mcp.Error{
		Kind: mcp.KindForbidden, Err: mcp.ErrNoToken,
		Message: fmt.Sprintf("the backend %q requires a token of the caller, which this server does not have any more: send the request again", x.backend),
	}
}

// unavailable is the error when an issuer cannot be reached, with the time of the next attempt, at least
// retryMin.
func (x *Exchanger) unavailable(again time.Duration) *mcp.Error {
	return &mcp.Error{
		Kind: mcp.KindUnavailable, RetryAfter: max(again, retryMin),
		Message: fmt.Sprintf("the issuer of the access token cannot be reached to get one for the backend %q: try again later", x.backend),
	}
}

// refusal is the error for a caller whose token the issuer does not exchange (RFC 6749, section
// 5.2; RFC 8693, section 2.2.2). It does not contain the issuer's text, which may include the
// token.
func (x *Exchanger) refusal(e *exchangeError) *mcp.Error {
	switch e.code {
	case "invalid_grant", "invalid_token":
		return &mcp.Error{
			Kind: mcp.KindUnauthenticated, Challenge: &mcp.Challenge{Invalid: true}, Err: e,
			Message: "the access token is no longer valid at its issuer: get a new one",
		}
	case "invalid_client", "unauthorized_client", "unsupported_grant_type", "":
		return &mcp.Error{
			Kind: mcp.KindInternal, Err: e,
			Message: fmt.Sprintf("this server cannot get a token for the backend %q: ask its operator to correct the configuration", x.backend),
		}
	}
	return &mcp.Error{
		Kind: mcp.KindForbidden, Err: e,
		Message: fmt.Sprintf("the issuer of the access token refuses one for the backend %q (%s): ask its operator whether you may use it", x.backend, e.code),
	}
}
