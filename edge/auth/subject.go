package auth

import (
	"slices"
	"strconv"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// userClaims are claims that show that a token belongs to a user, and not to its client alone:
// claims about the session and the login (OpenID Connect Front-Channel Logout 1.0, section 3; RFC
// 9068, section 2.2.1), the authorizing user (username: RFC 7662, section 2.2) and the user's
// identity (OpenID Connect Core 1.0, section 5.1).
var userClaims = []string{"sid", "auth_time", "preferred_username", "username", "email", "name"}

// clientClaims hold the id of the client that a token was issued to (RFC 9068, section 2.2; OpenID
// Connect Core 1.0, section 2).
var clientClaims = []string{"client_id", "azp"}

// subject returns the first subject claim that exists, and whether it names a client (see
// namesClient). If its value is not a valid name, the token is refused: the next claim may be
// shared by many tokens, as the client is by all its users. So with DefaultSubject a token of a
// user must have sub.
func (i *issuer) subject(claims jwt.MapClaims) (_ string, isClient bool, _ *refusal) {
	for n, path := range i.o.Subject {
		v, there := claim(claims, path)
		if !there {
			continue
		}
		s, ok := v.(string)
		if !ok {
			return "", false, &refusal{reason: ReasonSubject, text: "the access token's subject is not a string"}
		}
		if r := checkSubject(s); r != nil {
			return "", false, r
		}
		if n > 0 && i.o.subjectByDefault {
			if name := userClaim(claims); name != "" {
				return "", false, &refusal{reason: ReasonSubject, text: "the access token has the claim " + name + ", so it belongs to a user, but has no sub that names the user: " +
					"have its issuer put sub into access tokens"}

			}
			i.warnSubject(path)
		}
		return s, namesClient(claims, path, s), nil
	}
	return "", false, checkSubject("")
}

// namesClient reports whether the subject, the text of a claim, is the id of the client that the
// token was issued to: the claim is one of clientClaims, or it is sub, the client has its id there
// (RFC 9068, section 2.2), and no claim shows a user of that name.
func namesClient(claims jwt.MapClaims, path, subject string) bool {
	if path != "sub" {
		return slices.Contains(clientClaims, path)
	}
	isID := func(name string) bool { return claims[name] == subject }
	return slices.ContainsFunc(clientClaims, isID) && userClaim(claims) == ""
}

// userClaim returns one of userClaims that the token has; empty if none.
func userClaim(claims jwt.MapClaims) string {
	for _, name := range userClaims {
		if _, there := claims[name]; there {
			return name
		}
	}
	return ""
}

// warnSubject warns once that a token's subject is another claim than sub. Such a token may belong
// to a user, without a claim that shows it.
func (i *issuer) warnSubject(name string) {
	if i.log == nil || i.warned.Swap(true) {
		return
	}
	i.log.Warn("an access token has no sub, so its client is the principal. If it is a user's token, all users of that client are one principal. "+
		"Have the issuer put sub into the tokens of users, or set claims.subject", "issuer", i.o.URL, "claim", name)
}

// checkSubject refuses subjects that could be mistaken for another, or for an empty one.
func checkSubject(s string) *refusal {
	switch {
	case s == "":
		return &refusal{reason: ReasonSubject, text: "the access token has no subject: the claim of the subject is missing or empty"}
	case len(s) > maxSubject:
		return &refusal{reason: ReasonSubject, text: "the access token's subject is longer than " + strconv.Itoa(maxSubject) + " bytes"}
	case !mcp.IsName(s):
		return &refusal{reason: ReasonSubject, text: "the access token's subject begins or ends with a space, or has invisible or ambiguous characters: " +
			"have its issuer correct it, or configure another claim for the subject"}

	}
	return nil
}
