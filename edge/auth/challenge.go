package auth

import (
	"net/http"
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// The errors of RFC 6750, section 3.1.
const (
	errorRequest = "invalid_request"
	errorToken   = "invalid_token"
)

// challenge is the value of a WWW-Authenticate header (RFC 6750, section 3; RFC 9728, section 5.1).
// Empty members are omitted.
type challenge struct {
	scheme, failure, description, scope, metadata string
	// algorithms are those of proofs, for the scheme DPoP (RFC 9449, section 7.1).
	algorithms string
}

func (c challenge) String() string {
	var b strings.Builder
	b.WriteString(c.scheme)
	before := " "
	add := func(name, value string) {
		if value == "" {
			return
		}
		b.WriteString(before + name + `="` + quotable(value) + `"`)
		before = ", "
	}
	add("error", c.failure)
	add("error_description", c.description)
	add("scope", c.scope)
	add("resource_metadata", c.metadata)
	add("algs", c.algorithms)
	return b.String()
}

// quotable replaces the characters that the parameters of RFC 6750, section 3 must not have: all
// but printable ASCII without quotation marks and backslashes.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r < ' ', r > '~', r == '\\':
			return '?'
		}
		return r
	}, s)
}

// deny returns the response to refused credentials, with a challenge that names scope and metadata:
// 400 for an invalid header, 503 if the issuer cannot be reached, 429 for too many proofs, else
// 401. Without credentials the challenge has no error (RFC 6750, section 3.1).
func (a *Authenticator) deny(from origin, why *refusal, scope, metadata string) *web.Denial {
	a.refused[why.reason].Add(1)
	c := challenge{scope: scope, metadata: metadata}
	d := &web.Denial{Status: http.StatusUnauthorized, Message: why.text, Reason: why.reason.String(), Detail: why.detail}
	if from.issuer != nil {
		d.Issuer = from.issuer.o.URL
	}
	if from.key != "" {
		d.Issuer, d.Caller = APIKeyIssuer, mcp.Principal{Issuer: APIKeyIssuer, Subject: from.key}
	}
	switch why.reason {
	case ReasonUnavailable:
		d.Status = http.StatusServiceUnavailable
		// the keys are read in the background; everything else with the next request
		if from.issuer != nil && why == errNoKeys {
			d.RetryAfter = from.issuer.source.retryDelay()
		}
		return d
	case ReasonLimit:
		d.Status, d.RetryAfter = http.StatusTooManyRequests, once.Sweep
		return d
	case ReasonMissing:
	case ReasonMalformed:
		d.Status, c.failure, c.description = http.StatusBadRequest, errorRequest, why.text
	case ReasonProof:
		c.failure, c.description = errorProof, why.text
	default:
		c.failure, c.description = errorToken, why.text
	}
	d.Challenges = c.each(from.mode, from.scheme)
	return d
}

// each returns a challenge for each accepted scheme. The error is in the challenge for the used
// scheme, or in all of them if none was used.
func (c challenge) each(mode DPoP, used string) (out []string) {
	schemes := []string{schemeBearer, schemeDPoP}
	switch mode {
	case DPoPOff:
		schemes = schemes[:1]
	case DPoPRequire:
		schemes = schemes[1:]
	}
	for _, scheme := range schemes {
		one := c
		if one.scheme = scheme; len(schemes) > 1 && used != "" && used != scheme {
			one.failure, one.description = "", ""
		}
		if scheme == schemeDPoP {
			one.algorithms = strings.Join(ProofAlgorithms, " ")
		}
		out = append(out, one.String())
	}
	return out
}
