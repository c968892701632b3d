package auth

import (
	"slices"
	"strings"
)

// Set is a part of the edge's objects with its own endpoints, audiences and metadata.
type Set struct {
	// Endpoints are the paths of the set below Options.Resource, such as /mcp/support. The resources
	// of these paths are its audiences.
	Endpoints []string
	// Title is the name of its resource for people. Empty uses that of the edge.
	Title string
	// Scopes are those that its callers need.
	Scopes []string
	// AcceptRoot also accepts the audiences of the edge as a whole.
	AcceptRoot bool
}

// setTable has the sets by endpoint, and their documents. It is immutable.
type setTable struct {
	byEndpoint map[string]*setEndpoint
	// audiences are those of all sets.
	audiences audiences
	// documents is nil without an issuer.
	documents *documents
}

type setEndpoint struct {
	Set
	audiences audiences
}

// SetSets replaces the sets. Initially there are none.
func (a *Authenticator) SetSets(list []Set) error {
	t := &setTable{byEndpoint: map[string]*setEndpoint{}, audiences: audiences{}}
	if d := a.documents; d != nil {
		t.documents = &documents{resource: d.resource, root: d.root, byPath: map[string][]byte{}, urls: map[string]string{}}
	}
	for _, s := range list {
		one := &setEndpoint{Set: s}
		var resources []string
		for _, endpoint := range s.Endpoints {
			resources = append(resources, a.options.Resource+endpoint)
			t.byEndpoint[endpoint] = one
			if t.documents == nil {
				continue
			}
			m := a.documents.common
			if s.Title != "" {
				m.Name = s.Title
			}
			m.Scopes = union(m.Scopes, s.Scopes)
			if err := t.documents.add(endpoint, m); err != nil {
				return err
			}
		}
		one.audiences = newAudiences(resources)
		for audience := range one.audiences {
			t.audiences[audience] = true
		}
	}
	a.sets.Store(t)
	return nil
}

// union returns a list and those of more that it lacks.
func union(list, more []string) []string {
	out := slices.Clone(list)
	for _, one := range more {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// accepts reports whether a token has an audience that some endpoint accepts. If the issuer
// configures no audiences, own are the token's audiences that name the edge or may name a set.
// Otherwise own is nil, and every endpoint accepts the token.
func (i *issuer) accepts(token []string) (own []string, accepted bool) {
	if !i.o.audiencesByDefault || i.sets == nil {
		return nil, i.audiences.has(token)
	}
	sets := i.sets.Load()
	for _, one := range token {
		one = canonical(one)
		if i.audiences[one] || sets.audiences[one] {
			own, accepted = append(own, one), true
		} else if slices.ContainsFunc(i.o.Audiences, func(root string) bool { return strings.HasPrefix(one, canonical(root)+"/") }) {
			own = append(own, one) // it may become the audience of a set
		}
	}
	return own, accepted
}

// checkEndpoint returns why an endpoint does not accept verified credentials, or nil.
func (a *Authenticator) checkEndpoint(v verified, endpoint string) *refusal {
	if v.audiences == nil {
		return nil
	}
	accepted := a.root
	if set := a.sets.Load().byEndpoint[endpoint]; set != nil {
		if accepted = set.audiences; set.AcceptRoot && a.root.any(v.audiences) {
			return nil
		}
	}
	if accepted.any(v.audiences) {
		return nil
	}
	return errAudience.because("aud", v.audiences, accepted.list())
}

// scopesOf returns the scopes that a challenge without a particular request names at an endpoint.
func (a *Authenticator) scopesOf(endpoint string) string {
	set := a.sets.Load().byEndpoint[endpoint]
	if set == nil || len(set.Scopes) == 0 {
		return a.initialScopes
	}
	return strings.Join(union(a.options.Metadata.Initial, set.Scopes), " ")
}
