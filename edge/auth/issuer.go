package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// issuer verifies the tokens of one issuer.
type issuer struct {
	o         Issuer
	audiences audiences
	validator *jwt.Validator
	// answers validates the times in answers of introspection, which are optional.
	answers *jwt.Validator
	source  *source
	// keep are the claims that principals keep. It may be nil.
	keep *atomic.Pointer[KeptClaims]
	// sets has the sets whose audiences are accepted in addition to audiences. It may be nil.
	sets *atomic.Pointer[setTable]
	// log gets one warning if the subject is taken from another claim than sub; warned is true after it. log may be nil.
	log    *slog.Logger
	warned atomic.Bool
}

func newIssuer(o Issuer, s *source) *issuer {
	return &issuer{
		o: o, audiences: newAudiences(o.Audiences), source: s,
		answers:   jwt.NewValidator(jwt.WithLeeway(o.Skew)),
		validator: jwt.NewValidator(jwt.WithLeeway(o.Skew), jwt.WithExpirationRequired(), jwt.WithIssuer(o.URL)),
	}
}

// parser parses tokens. The issuer's validator validates their claims.
var parser = jwt.NewParser(jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding())

// isJWT reports whether a token has the three parts of a JWT.
func isJWT(token string) bool { return strings.Count(token, ".") == 2 }

// isOpaque reports whether only its issuer can read a token, so that the token may be sent to it.
// Anything that could be another issuer's JWT, whole or truncated, may not be sent: a token with
// the three parts of a signed JWT (RFC 7515, section 7.1) or the five of an encrypted one (RFC
// 7516, section 7.1), and one that begins like their headers and has a dot.
func isOpaque(token string) bool {
	first, _, dotted := strings.Cut(token, ".")
	switch strings.Count(token, ".") {
	case 2, 4:
		return false
	}
	return !dotted || !isObject(first)
}

// isObject reports whether a text in base64, of either alphabet, begins like a JSON object.
func isObject(encoded string) bool {
	encoded = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(encoded, "="))
	encoded = encoded[:len(encoded)-len(encoded)%4]
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	return err == nil && strings.HasPrefix(strings.TrimLeft(string(text), " \t\r\n"), "{")
}

// verifyJWT verifies a JWT. A refusal with ReasonUnavailable means that its issuer's keys cannot be
// fetched. from is the issuer that the token names, nil if it is not configured.
func (a *Authenticator) verifyJWT(ctx context.Context, token string) (v verified, from *issuer, _ *refusal) {
	if !unambiguous(token) {
		return v, nil, errUnreadable
	}
	claims, from, named, why, err := a.parse(ctx, token)
	if err != nil && why == nil && !named && errors.Is(err, jwt.ErrTokenSignatureInvalid) && from.source.ask(ctx) {
		// The key may be new, and the token has no key id that would show it.
		claims, from, _, why, err = a.parse(ctx, token)
	}
	switch {
	case why != nil:
		return v, from, why
	case err != nil && errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return v, from, &refusal{reason: ReasonSignature, text: "the access token's signature is not its issuer's"}
	case err != nil && errors.Is(err, jwt.ErrTokenUnverifiable):
		return v, from, &refusal{reason: ReasonAlgorithm, text: "the access token's signature has an algorithm that is not accepted"}
	case err != nil:
		return v, from, errUnreadable
	}
	_, payload, _ := strings.Cut(token, ".")
	payload, _, _ = strings.Cut(payload, ".")
	text, _ := parser.DecodeSegment(payload) // parsed above
	v, why = from.validate(claims, text)
	return v, from, why
}

// parse parses a JWT and verifies its signature. named is true if its issuer has a key with the
// token's key id. why is the refusal for err, if there is one.
func (a *Authenticator) parse(ctx context.Context, token string) (claims jwt.MapClaims, from *issuer, named bool, why *refusal, err error) {
	claims = jwt.MapClaims{}
	_, err = parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		if from, why = a.issuerOf(claims); why != nil {
			return nil, why
		}
		var keys jwt.VerificationKeySet
		keys, named, why = from.keysFor(ctx, t)
		if why != nil {
			return nil, why
		}
		return keys, nil
	})
	return claims, from, named, why, err
}

// errUnreadable means that a token in the form of a JWT is not one.
var errUnreadable = &refusal{reason: ReasonUnknown, text: "the access token is a malformed JWT: send it as it was issued"}

// unambiguous reports whether the header and the claims of a JWT are JSON without duplicate members
// (RFC 7515, section 4; RFC 7519, section 4), which another reader might resolve differently.
func unambiguous(token string) bool {
	for range 2 {
		var part string
		part, token, _ = strings.Cut(token, ".")
		text, err := parser.DecodeSegment(part)
		if err != nil || !uniqueMembers(text) {
			return false
		}
	}
	return true
}

func (a *Authenticator) issuerOf(claims jwt.MapClaims) (*issuer, *refusal) {
	name, _ := claims["iss"].(string)
	if i := a.issuers[name]; i != nil {
		return i, nil
	}
	return nil, errIssuer.because("iss", []string{name}, slices.Sorted(maps.Keys(a.issuers)))
}

// keysFor returns the keys that may have signed a token. It fetches the keys again if none may.
// named is true if one has the token's key id.
func (i *issuer) keysFor(ctx context.Context, t *jwt.Token) (keys jwt.VerificationKeySet, named bool, _ *refusal) {
	algorithm := t.Method.Alg()
	if !slices.Contains(i.o.Algorithms, algorithm) {
		return keys, false, &refusal{reason: ReasonAlgorithm, text: "the access token's signature has an algorithm that is not accepted"}
	}
	if r := checkHeader(t.Header); r != nil {
		return keys, false, r
	}
	id, ok := t.Header["kid"].(string)
	if _, there := t.Header["kid"]; there && !ok {
		return keys, false, &refusal{reason: ReasonKey, text: "the access token's header names a key (kid) that is not a string"}
	}
	for tries := 0; ; tries++ {
		set := i.source.keys(ctx)
		if set == nil {
			return keys, false, errNoKeys
		}
		found, known, named := set.find(id, algorithm)
		last := tries == 2 || len(found) == 0 && !named && !i.source.ask(ctx)
		switch {
		case len(found) > 0:
			return jwt.VerificationKeySet{Keys: found}, named, nil
		case named, known && last:
			return keys, false, &refusal{reason: ReasonAlgorithm, text: "the access token's signature has an algorithm that does not suit its key"}
		case last:
			// The second fetch is for a caller that joined one which began before the issuer had
			// the key.
			return keys, false, &refusal{reason: ReasonKey, text: "the access token is signed with a key that its issuer does not have"}
		}
	}
}

// tokenTypes are the types of access tokens in the header typ: RFC 9068, section 2.1, and those of
// other issuers.
var tokenTypes = []string{"", "jwt", "at+jwt"}

// checkHeader refuses headers with extensions that must be understood (RFC 7515, section 4.1.11;
// RFC 7797), and JWTs whose type is not that of an access token.
func checkHeader(header map[string]any) *refusal {
	for _, extension := range []string{"crit", "b64"} {
		if _, there := header[extension]; there {
			return &refusal{reason: ReasonKind, text: "the access token's header has extensions (crit, b64) that are not understood here"}
		}
	}
	typ, there := header["typ"].(string)
	if _, named := header["typ"]; named != there || !slices.Contains(tokenTypes, strings.TrimPrefix(strings.ToLower(typ), "application/")) {
		return &refusal{reason: ReasonKind, text: "the JWT is not an access token: its header states another type"}
	}
	return nil
}

var (
	errIssuer   = &refusal{reason: ReasonIssuer, text: "the access token's issuer is not accepted"}
	errAudience = &refusal{reason: ReasonAudience, text: "the access token is not for this server: ask its issuer for one with this server as its resource or audience"}
	errBound    = &refusal{reason: ReasonBound, text: "the access token is bound to a key, which the scheme Bearer does not prove: send it with its proof, or get an unbound one"}
)

// validate evaluates the claims of a token with a valid signature; text is the JSON of the claims.
func (i *issuer) validate(claims jwt.MapClaims, text []byte) (v verified, _ *refusal) {
	boundTimes(claims)
	if err := i.validator.Validate(claims); err != nil {
		return v, validity(err)
	}
	if r := checkKind(claims); r != nil {
		return v, r
	}
	audience, err := claims.GetAudience()
	own, accepted := i.accepts(audience)
	if err != nil || !accepted {
		return v, errAudience.because("aud", audience, i.audiences.list())
	}
	bound, r := boundTo(claims)
	if r != nil {
		return v, r
	}
	p, r := i.principal(claims, text)
	if r != nil {
		return v, r
	}
	exp, _ := claims.GetExpirationTime() // validated
	v = i.verifiedUntil(p, exp.Time)
	v.boundTo, v.audiences = bound, own
	return v, nil
}

// verifiedUntil returns the result for a token that is valid until exp.
func (i *issuer) verifiedUntil(p mcp.Principal, exp time.Time) verified {
	p.Until = exp.Add(i.o.Skew)
	until := time.Now().Add(DefaultCacheTTL)
	if p.Until.Before(until) {
		until = p.Until
	}
	return verified{principal: p, until: until}
}

// validity returns the refusal for invalid times of a token, or for an invalid claim about them.
func validity(err error) *refusal {
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return &refusal{reason: ReasonExpired, text: "the access token has expired: get a new one"}
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return &refusal{reason: ReasonExpired, text: "the access token has no expiry: its claim exp is missing"}
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return &refusal{reason: ReasonEarly, text: "the access token is not valid yet: compare the clocks of its issuer and of this server"}
	}
	return &refusal{reason: ReasonUnknown, text: "the access token has claims that cannot be read"}
}
