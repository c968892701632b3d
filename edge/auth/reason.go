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
	// ReasonMissing: there are no credentials.
	ReasonMissing Reason = iota
	// ReasonMalformed: the header cannot be read.
	ReasonMalformed
	// ReasonTooLarge: the token is longer than the bound.
	ReasonTooLarge
	// ReasonUnknown: it is not an API key, and not a token that an issuer can be asked about.
	ReasonUnknown
	// ReasonIssuer: the issuer is not configured.
	ReasonIssuer
	// ReasonAlgorithm: the signature's algorithm is not allowed, or does not suit the key.
	ReasonAlgorithm
	// ReasonKey: the issuer has no such key.
	ReasonKey
	// ReasonSignature: the signature does not verify.
	ReasonSignature
	// ReasonExpired: it has expired, or has no expiry.
	ReasonExpired
	// ReasonEarly: it is not valid yet.
	ReasonEarly
	// ReasonAudience: it was issued for another audience.
	ReasonAudience
	// ReasonKind: it is a token of another kind: an ID token, or one that the edge is not
	// configured to read.
	ReasonKind
	// ReasonBound: it is bound to a key whose possession the request does not prove.
	ReasonBound
	// ReasonSubject: it has no valid subject.
	ReasonSubject
	// ReasonUnavailable: the issuer cannot be reached; the response is 503.
	ReasonUnavailable
	// ReasonScope: its scopes do not suffice.
	ReasonScope
	// ReasonProof: the proof of the key that the token is bound to is missing, or invalid for this
	// request.
	ReasonProof
	// ReasonLimit: the caller has used more proofs than are remembered; the response is 429.
	ReasonLimit
	// ReasonClaim: a claim has the wrong type.
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
	// detail is what helps an operator to find the cause, for the log alone; empty: nothing.
	detail string
}

// because returns the refusal with a detail. Each of values, which are a token's, is clipped and quoted, as are the first of the
// accepted ones.
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
