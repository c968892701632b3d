package auth

import (
	"net/url"
	"strings"
)

// canonical is an audience in the form in which it is compared: of a URL, the scheme and host in lower case, without
// the scheme's default port and without one slash at the end (MCP, "Canonical Server URI"). What is no URL stays as it is, and so does
// one with a fragment, be it empty: a resource has none.
func canonical(audience string) string {
	u, err := url.Parse(audience)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || strings.Contains(audience, "#") {
		return audience
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.Host = canonicalHost(u.Scheme, u.Host)
	if u.RawQuery == "" {
		u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	}
	return u.String()
}

// canonicalHost is a host, with its port unless that is the scheme's, which is in lower case.
func canonicalHost(scheme, host string) string {
	host = strings.ToLower(host)
	switch scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return strings.TrimSuffix(host, ":")
}

// audiences are those that a token may have one of, in canonical form.
type audiences map[string]bool

func newAudiences(list []string) audiences {
	a := audiences{}
	for _, one := range list {
		a[canonical(one)] = true
	}
	return a
}

// has says whether one of them is among those of a token.
func (a audiences) has(token []string) bool {
	for _, one := range token {
		if a[canonical(one)] {
			return true
		}
	}
	return false
}
