package auth

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// canonical returns an audience in the form in which audiences are compared: for a URL, scheme and
// host in lower case, without the scheme's default port and without one trailing slash (MCP,
// "Canonical Server URI"). A text that is not a URL stays unchanged, as does a URL with a fragment,
// even an empty one: a resource has none.
func canonical(audience string) string {
	u, err := url.Parse(audience)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || strings.Contains(audience, "#") {
		return audience
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.Host = canonicalHost(u.Scheme, u.Host)
	// An escaped slash at the end is part of another path.
	if u.RawQuery == "" && strings.HasSuffix(u.EscapedPath(), "/") {
		u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	}
	return u.String()
}

// canonicalHost returns a host in lower case, without the default port of the scheme.
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

// audiences are the accepted audiences of a token, in canonical form.
type audiences map[string]bool

func newAudiences(list []string) audiences {
	a := audiences{}
	for _, one := range list {
		a[canonical(one)] = true
	}
	return a
}

// list returns the audiences, sorted.
func (a audiences) list() []string { return slices.Sorted(maps.Keys(a)) }

// any reports whether one of a list in canonical form is among the audiences.
func (a audiences) any(canonical []string) bool {
	return slices.ContainsFunc(canonical, func(one string) bool { return a[one] })
}

// has reports whether a token has one of the audiences.
func (a audiences) has(token []string) bool {
	for _, one := range token {
		if a[canonical(one)] {
			return true
		}
	}
	return false
}
