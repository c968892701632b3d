package auth

import (
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// foreignClaims are claims that access tokens do not have: those of ID tokens (OpenID Connect Core
// 1.0, sections 2 and 3.3.2.11; s_hash is from FAPI), and of logout tokens and other security
// events (RFC 8417, section 2.2).
var foreignClaims = []string{"at_hash", "c_hash", "s_hash", "nonce", "events"}

// kindClaims are the claims in which issuers state the kind of a token, in JWTs and in answers of
// introspection, with the values of access tokens in lower case. typ is Keycloak's, with the value
// DPoP for bound tokens; token_use is that of Cognito and Hydra.
var kindClaims = map[string][]string{
	"typ":       {"bearer", "dpop", "jwt", "at+jwt", "application/at+jwt", "access", "access_token"},
	"token_use": {"access", "access_token"},
}

// answeredTypes are the values of token_type in answers of introspection (RFC 7662, section 2.2)
// for tokens of the schemes Bearer and DPoP, in lower case.
var answeredTypes = []string{"bearer", "dpop", "access_token"}

// checkKind refuses ID tokens, refresh tokens, logout tokens and other signed tokens by their
// claims.
func checkKind(claims jwt.MapClaims) *refusal {
	for _, name := range foreignClaims {
		if _, there := claims[name]; there {
			return &refusal{reason: ReasonKind, text: "the token has the claim " + name + ", so it is an ID token or a logout token: send the access token"}
		}
	}
	for name, accepted := range kindClaims {
		if r := checkKindClaim(claims, name, accepted); r != nil {
			return r
		}
	}
	return nil
}

// checkKindClaim refuses a token whose claim states another kind.
func checkKindClaim(claims jwt.MapClaims, name string, accepted []string) *refusal {
	v, there := claims[name]
	if !there {
		return nil
	}
	if s, ok := v.(string); ok && slices.Contains(accepted, strings.ToLower(s)) {
		return nil
	}
	return &refusal{reason: ReasonKind, text: "the token's " + name + " says that it is of another kind: send the access token"}
}
