package auth

import (
	"slices"
	"strconv"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// userClaims say that a user is behind a token, which then is not its client's alone: of the session and the login (OpenID Connect
// Front-Channel Logout 1.0, section 3; RFC 9068, section 2.2.1), of whoever authorized it (username: RFC 7662, section 2.2), and of
// who that is (OpenID Connect Core 1.0, section 5.1).
var userClaims = []string{"sid", "auth_time", "preferred_username", "username", "email", "name"}

// clientClaims are the id of the client that a token was issued to (RFC 9068, section 2.2; OpenID Connect Core 1.0, section 2).
var clientClaims = []string{"client_id", "azp"}

// subject is the first claim of the subject that is there, and whether it is a client's, by namesClient. If that is no name the token is
// nobody's: the next claim may be the same in the tokens of many, as is the client's in those of all its users. So by DefaultSubject a
// token of a user has sub.
func (i *issuer) subject(claims jwt.MapClaims) (_ string, isClient bool, _ *refusal) {
	for n, path := range i.o.Subject {
		v, there := claim(claims, path)
		if !there {
			continue
		}
		s, ok := v.(string)
		if !ok {
			return "", false, &refusal{ReasonSubject, "the access token's subject is no string"}
		}
		if r := checkSubject(s); r != nil {
			return "", false, r
		}
		if n > 0 && i.o.subjectByDefault {
			if name := userClaim(claims); name != "" {
				return "", false, &refusal{ReasonSubject, "the access token has the claim " + name + ", so it is a user's, and has no sub that says whose: " +
					"have its issuer put sub into access tokens"}
			}
			i.warnSubject(path)
		}
		return s, namesClient(claims, path, s), nil
	}
	return "", false, checkSubject("")
}

// namesClient reports whether the subject, the text of a claim, is the id of the client that the token was issued to: it is a claim of
// clientClaims, or sub where a client has its id there (RFC 9068, section 2.2) and nothing says that a user of that name is behind the token.
func namesClient(claims jwt.MapClaims, path, subject string) bool {
	if path != "sub" {
		return slices.Contains(clientClaims, path)
	}
	isID := func(name string) bool { return claims[name] == subject }
	return slices.ContainsFunc(clientClaims, isID) && userClaim(claims) == ""
}

// userClaim is one of userClaims that the token has; empty: it has none.
func userClaim(claims jwt.MapClaims) string {
	for _, name := range userClaims {
		if _, there := claims[name]; there {
			return name
		}
	}
	return ""
}

// warnSubject says once that a token's subject is another claim than sub. Tokens that nothing tells from a machine's may be those of users.
func (i *issuer) warnSubject(name string) {
	if i.log == nil || i.warned.Swap(true) {
		return
	}
	i.log.Warn("an access token has no sub: its client is the caller, and were it a user's, all users of that client would be one. "+
		"Have the issuer put sub into the tokens of users, or set claims.subject", "issuer", i.o.URL, "claim", name)
}

// checkSubject refuses what could be taken for another one, or for nobody.
func checkSubject(s string) *refusal {
	switch {
	case s == "":
		return &refusal{ReasonSubject, "the access token says of nobody that it is theirs: the claim of the subject is missing or empty"}
	case len(s) > maxSubject:
		return &refusal{ReasonSubject, "the access token's subject is longer than " + strconv.Itoa(maxSubject) + " bytes"}
	case !mcp.IsName(s):
		return &refusal{ReasonSubject, "the access token's subject begins or ends with a space, or has characters that show as nothing or as others: " +
			"have its issuer name it otherwise, or take its subject from another claim"}
	}
	return nil
}
