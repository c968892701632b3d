package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// claim finds a claim by its name or else, with the names between its dots, in objects. false: it is not there. What is
// where an object should be is there, as nil.
func claim(claims map[string]any, path string) (any, bool) {
	if v, ok := claims[path]; ok {
		return v, true
	}
	for at := claims; ; {
		name, rest, more := strings.Cut(path, ".")
		v, ok := at[name]
		if !more || !ok {
			return v, ok
		}
		next, ok := v.(map[string]any)
		if !ok {
			return nil, true
		}
		at, path = next, rest
	}
}

// texts are the strings of a claim: itself, or the elements of an array. ok is false when it is neither.
func texts(v any) (list []string, ok bool) {
	switch v := v.(type) {
	case string:
		return []string{v}, true
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, s)
			}
		}
		return list, true
	}
	return nil, false
}

// principal makes the principal of the claims of a token that is good; text is their JSON.
func (i *issuer) principal(claims jwt.MapClaims, text []byte) (mcp.Principal, *refusal) {
	p := mcp.Principal{Issuer: i.o.URL}
	var r *refusal
	if p.Subject, p.SubjectIsClient, r = i.subject(claims); r != nil {
		return mcp.Principal{}, r
	}
	for _, path := range i.o.Scopes {
		v, _ := claim(claims, path)
		if list, ok := texts(v); ok {
			for _, s := range list {
				p.Scopes = append(p.Scopes, strings.Fields(s)...)
			}
			break
		}
	}
	known := map[string]bool{"": true}
	for _, path := range i.o.Roles {
		v, _ := claim(claims, path)
		list, _ := texts(v)
		for _, role := range list {
			if !known[role] {
				known[role] = true
				p.Roles = append(p.Roles, role)
			}
		}
	}
	for _, name := range clientClaims {
		if v, there := claims[name]; there {
			if s, ok := v.(string); ok && checkSubject(s) == nil {
				p.Client = s
			}
			break
		}
	}
	if p.Actor, r = i.actor(claims); r != nil {
		return mcp.Principal{}, r
	}
	if p.Forwarded, r = i.chosen(text); r != nil {
		return mcp.Principal{}, r
	}
	p.Claims = i.kept(claims)
	if id, ok := claims["jti"].(string); ok && id != "" {
		sum := sha256.Sum256([]byte(id))
		p.TokenID = hex.EncodeToString(sum[:])
	}
	return p, nil
}

// actor is who acts for the subject, the newest of a chain (RFC 8693, section 4.1). Principal.Actor is one of the subject's issuer,
// so that of another one could be taken for somebody else.
func (i *issuer) actor(claims jwt.MapClaims) (string, *refusal) {
	v, there := claims["act"]
	if !there {
		return "", nil
	}
	act, _ := v.(map[string]any)
	s, _ := act["sub"].(string)
	if checkSubject(s) != nil {
		return "", &refusal{ReasonSubject, "the access token does not say who acts for its subject: its claim act has no sub that can be read"}
	}
	if name, said := act["iss"]; said && name != i.o.URL {
		return "", &refusal{ReasonSubject, "the access token says that somebody of another issuer acts for its subject (act.iss), which is not accepted"}
	}
	return s, nil
}

// chosen are the claims that backends are told, as they are written; nil: none.
func (i *issuer) chosen(text []byte) (found map[string]json.RawMessage, _ *refusal) {
	for _, path := range i.claims {
		v := rawClaim(text, path)
		switch {
		case v == nil:
			continue
		case len(v) > maxClaim:
			return nil, &refusal{ReasonTooLarge, "a claim of the access token that backends are told is longer than " + strconv.Itoa(maxClaim) + " bytes"}
		case found == nil:
			found = make(map[string]json.RawMessage, len(i.claims))
		}
		found[path] = v
	}
	return found, nil
}

// rawClaim is claim on JSON; nil: it is not there.
func rawClaim(text []byte, path string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	if v, ok := members[path]; ok {
		return v
	}
	for {
		name, rest, more := strings.Cut(path, ".")
		v, ok := members[name]
		if !more || !ok {
			return v
		}
		members = nil
		if json.Unmarshal(v, &members) != nil {
			return nil
		}
		path = rest
	}
}

// Principal is who the claims of a token of the issuer stand for, with all of them. Nothing is verified: it is for explaining.
func (i Issuer) Principal(claims map[string]any) (mcp.Principal, error) {
	p, why := (&issuer{o: i.withDefaults(nil)}).principal(claims, nil)
	if why != nil {
		return p, why
	}
	p.Claims = claims
	return p, nil
}

// keptClaims are the claims that principals have.
type keptClaims struct {
	names []string
	all   bool
}

// KeepClaims has principals have these claims, or all, from now on. Tokens that were verified before are verified again.
func (a *Authenticator) KeepClaims(names []string, all bool) {
	if before := a.keep.Load(); before != nil && before.all == all && slices.Equal(before.names, names) {
		return
	}
	a.keep.Store(&keptClaims{slices.Clone(names), all})
}

// kept are the claims that principals have, as the settings are now; nil: none.
func (i *issuer) kept(claims jwt.MapClaims) map[string]any {
	if i.keep == nil || i.keep.Load() == nil {
		return nil
	}
	keep := i.keep.Load()
	if keep.all {
		return claims
	}
	var out map[string]any
	for _, name := range keep.names {
		if v, there := claims[name]; there {
			if out == nil {
				out = map[string]any{}
			}
			out[name] = v
		}
	}
	return out
}
