package auth

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// credentials are those of a request.
type credentials struct {
	// scheme is schemeBearer or schemeDPoP. Empty means no credentials.
	scheme string
	token  string
	// mode is the DPoP mode of the address that received them.
	mode DPoP
}

// The schemes of an Authorization header: RFC 6750, section 2.1, and RFC 9449, section 7.1.
const (
	schemeBearer = "Bearer"
	schemeDPoP   = "DPoP"
)

// queryToken is the query parameter of RFC 6750, section 2.3, which MCP forbids.
const queryToken = "access_token"

// readCredentials reads the Authorization header. Another scheme counts as no credentials (RFC
// 6750, section 3.1); DPoP is another one if mode is DPoPOff. It does not validate the token: see
// checkToken.
func readCredentials(r *http.Request, mode DPoP) (credentials, *refusal) {
	values := r.Header["Authorization"]
	switch {
	case len(values) == 0:
		return credentials{mode: mode}, nil
	case len(values) > 1:
		return credentials{}, malformed("the Authorization header was sent " + strconv.Itoa(len(values)) + " times: send it once")
	case values[0] == "":
		return credentials{}, malformed("the Authorization header is empty: send Bearer and an access token, or omit the header")
	}
	written, token := splitAuthorization(values[0])
	c := credentials{token: token, mode: mode}
	switch {
	case strings.EqualFold(written, schemeBearer):
		c.scheme = schemeBearer
	case mode != DPoPOff && strings.EqualFold(written, schemeDPoP):
		c.scheme = schemeDPoP
	default:
		return credentials{mode: mode}, nil
	}
	switch {
	case strings.HasPrefix(values[0][len(written):], "\t"):
		return credentials{}, malformed("the Authorization header has a tab after " + c.scheme + ": send one space")
	case token == "":
		return credentials{}, malformed("the Authorization header has no token after " + c.scheme + ": send one")
	case inQuery(r):
		return credentials{}, malformed("an access token was sent in the query beside the Authorization header: send it in the header only, because many programs log the query")
	case len(token) > maxToken:
		return credentials{}, &refusal{reason: ReasonTooLarge, text: "the access token has " + strconv.Itoa(len(token)) + " bytes: the limit is " + strconv.Itoa(maxToken)}
	}
	return c, nil
}

// splitAuthorization splits the value of an Authorization header (RFC 9110, section 11.4).
func splitAuthorization(value string) (scheme, token string) {
	if end := strings.IndexAny(value, " \t"); end >= 0 {
		return value[:end], strings.Trim(value[end:], " \t")
	}
	return value, ""
}

func malformed(text string) *refusal { return &refusal{reason: ReasonMalformed, text: text} }

// inQuery reports whether the query has a token, in any encoding. A value that cannot be decoded
// counts as one.
func inQuery(r *http.Request) bool {
	for pair := range strings.FieldsFuncSeq(r.URL.RawQuery, func(c rune) bool { return c == '&' || c == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		if name == queryToken {
			return true
		}
		if strings.Contains(name, "%") {
			if plain, err := url.QueryUnescape(name); err == nil && plain == queryToken {
				return true
			}
		}
	}
	return false
}

// checkToken refuses characters that no token may have (RFC 6750, section 2.1, b64token).
func checkToken(token string) *refusal {
	body := strings.TrimRight(token, "=")
	for i := range len(body) {
		switch c := body[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~+/", c) >= 0:
		default:
			return malformed("the access token has an invalid character: send it as it was issued, with nothing after it")
		}
	}
	if body == "" {
		return malformed("the access token is empty: send one")
	}
	return nil
}
