package auth

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// Reason is why a request's credentials were refused, as named in metrics.
type Reason uint8

// The reasons.
const (
	// ReasonMissing means that the request has no credentials.
	ReasonMissing Reason = iota
	// ReasonMalformed means that the header is malformed.
	ReasonMalformed
	// ReasonTooLarge means that the token exceeds the limit.
	ReasonTooLarge
	// ReasonUnknown means that it is neither an API key nor a token that an issuer can verify.
	ReasonUnknown
	// ReasonIssuer means that the issuer is not configured.
	ReasonIssuer
	// ReasonAlgorithm means that the signature's algorithm is not allowed, or does not match the
	// key.
	ReasonAlgorithm
	// ReasonKey means that the issuer has no such key.
	ReasonKey
	// ReasonSignature means that the signature is invalid.
	ReasonSignature
	// ReasonExpired means that the token has expired, or has no expiry.
	ReasonExpired
	// ReasonEarly means that the token is not valid yet.
	ReasonEarly
	// ReasonAudience means that the token was issued for another audience.
	ReasonAudience
	// ReasonKind means that it is a token of another kind: an ID token, or one that the edge is not
	// configured to accept.
	ReasonKind
	// ReasonBound means that the token is bound to a key whose possession the request does not
	// prove.
	ReasonBound
	// ReasonSubject means that the token has no valid subject.
	ReasonSubject
	// ReasonUnavailable means that the issuer cannot be reached; the response is 503.
	ReasonUnavailable
	// ReasonScope means that the scopes are insufficient.
	ReasonScope
	// ReasonProof means that the proof for the token's key is missing, or invalid for this request.
	ReasonProof
	// ReasonLimit means that the caller has used more proofs than are stored; the response is 429.
	ReasonLimit
	// ReasonClaim means that a claim has the wrong type.
	ReasonClaim
	reasonCount
)

var reasonNames = [reasonCount]string{
	"missing", "malformed", "too_large", "unknown", "issuer", "algorithm", "key", "signature", "expired", "early",
	"audience", "kind", "bound", "subject", "unavailable", "scope", "proof", "limit", "claim",
}

// String returns the reason's name in metrics.
func (r Reason) String() string { return reasonNames[r] }

// refusal is why credentials are refused. text contains nothing from them that is unbounded or
// harmful to show to their sender.
type refusal struct {
	reason Reason
	text   string
	// detail helps an operator to find the cause. It is logged only. Empty means none.
	detail string
}

// because returns the refusal with a detail. The values come from the token; each is shortened and
// quoted, and so are the first of the accepted values.
func (r refusal) because(claim string, values, accepted []string) *refusal {
	r.detail = fmt.Sprintf("its %s is %s, and accepted are %s", claim, quoted(values), quoted(accepted))
	return &r
}

// quoted formats the first ten of the values.
func quoted(values []string) string {
	const most, longest = 10, 200
	if len(values) == 0 {
		return "none"
	}
	out := make([]string, 0, most+1)
	for _, v := range values[:min(most, len(values))] {
		out = append(out, fmt.Sprintf("%.*q", longest, v))
	}
	if len(values) > most {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// counts counts refusals by their reason.
type counts [reasonCount]atomic.Int64
