package auth

import (
	"strconv"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// userClaims say that a user is behind a token, which then is not its client's alone: of the session and the login (OpenID Connect
// Front-Channel Logout 1.0, section 3; RFC 9068, section 2.2.1), of whoever authorized it (username: RFC 7662, section 2.2), and of
// who that is (OpenID Connect Core 1.0, section 5.1).
var userClaims = []string{"sid", "auth_time", "preferred_username", "username", "email", "name"}

// subject is the first claim of the subject that is there. If that is no name the token is nobody's: the next claim may
// be the same in the tokens of many, as is the client's in those of all its users. So by DefaultSubject a token of a user has sub.
func (i *issuer) subject(claims jwt.MapClaims) (string, *refusal) {
	for n, path := range i.o.Subject {
		v, there := claim(claims, path)
		if !there {
			continue
		}
		s, ok := v.(string)
		if !ok {
			return "", &refusal{ReasonSubject, "the access token's subject is no string"}
		}
		if r := checkSubject(s); r != nil {
			return "", r
		}
		if n > 0 && i.o.subjectByDefault {
			if r := checkUser(claims); r != nil {
				return "", r
			}
			i.warnSubject(path)
		}
		return s, nil
	}
	return "", checkSubject("")
}

// checkUser refuses the token of a user, which has no sub.
func checkUser(claims jwt.MapClaims) *refusal {
	for _, name := range userClaims {
		if _, there := claims[name]; there {
			return &refusal{ReasonSubject, "the access token has the claim " + name + ", so it is a user's, and has no sub that says whose: " +
				"have its issuer put sub into access tokens"}
		}
	}
	return nil
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
