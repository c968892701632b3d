package auth

import "sync/atomic"

// Reason is why a request's credentials were not accepted, as metrics name it.
type Reason uint8

// The reasons.
const (
	// ReasonMissing: there are no credentials.
	ReasonMissing Reason = iota
	// ReasonMalformed: the header cannot be read.
	ReasonMalformed
	// ReasonTooLarge: the token is longer than any that is served.
	ReasonTooLarge
	// ReasonUnknown: it is no API key, and no token that an issuer could be asked about.
	ReasonUnknown
	// ReasonIssuer: no issuer of that name is configured.
	ReasonIssuer
	// ReasonAlgorithm: the signature's algorithm is not allowed, or does not suit the key.
	ReasonAlgorithm
	// ReasonKey: the issuer has no such key.
	ReasonKey
	// ReasonSignature: the signature does not verify.
	ReasonSignature
	// ReasonExpired: it was good until a while ago, or does not say until when it is.
	ReasonExpired
	// ReasonEarly: it is not good yet.
	ReasonEarly
	// ReasonAudience: it was issued for somebody else.
	ReasonAudience
	// ReasonKind: it is a token of another kind: an ID token, or one that the edge is not told how to read.
	ReasonKind
	// ReasonBound: it is bound to a key that the request does not prove to have.
	ReasonBound
	// ReasonSubject: it says of nobody that it is theirs.
	ReasonSubject
	// ReasonUnavailable: the issuer cannot be asked, and the request is answered 503.
	ReasonUnavailable
	// ReasonScope: it does not allow what was asked for.
	ReasonScope
	// ReasonProof: the proof of the key that the token is bound to is missing, or none for this request.
	ReasonProof
	// ReasonLimit: the caller has used more proofs than are remembered, and the request is answered 429.
	ReasonLimit
	// ReasonClaim: a claim is of another type than it must have.
	ReasonClaim
	reasonCount
)

var reasonNames = [reasonCount]string{
	"missing", "malformed", "too_large", "unknown", "issuer", "algorithm", "key", "signature", "expired", "early",
	"audience", "kind", "bound", "subject", "unavailable", "scope", "proof", "limit", "claim",
}

// String is the reason's name in metrics.
func (r Reason) String() string { return reasonNames[r] }

// refusal says why credentials are not accepted. Text holds nothing of them but what is bounded and harmless to
// show to whoever sent them.
type refusal struct {
	reason Reason
	text   string
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// counts counts refusals by their reason.
type counts [reasonCount]atomic.Int64
