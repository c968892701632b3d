package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// misplaced is the value of a claim whose path leads through a value that is not an object.
type misplaced struct{}

// claim returns a claim by its name or else by its path through objects, whose parts are separated
// by dots. It returns false if there is none. The value is misplaced if the path leads through a
// value other than an object, and nil for null.
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
			return misplaced{}, true
		}
		at, path = next, rest
	}
}

// texts returns the strings of a claim: the claim itself, or the elements of an array. It refuses
// other values, because ignoring them could circumvent a policy that denies by them.
func texts(name string, v any) (list []string, _ *refusal) {
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, badClaim(name, "has an element that is not a string")
			}
			list = append(list, s)
		}
		return list, nil
	}
	return nil, badClaim(name, "is neither a string nor an array of strings")
}

// text returns a string claim; empty if it is missing.
func text(claims jwt.MapClaims, name string) (string, *refusal) {
	v, there := claims[name]
	if !there {
		return "", nil
	}
	s, ok := v.(string)
	if !ok {
		return "", badClaim(name, "is not a string")
	}
	return s, nil
}

// badClaim refuses a claim of the wrong type. The name is from the settings or the specification.
func badClaim(name, what string) *refusal {
	return &refusal{reason: ReasonClaim, text: "the access token's claim " + name + " " + what + ": have its issuer correct it, or configure another claim"}
}

// scopesOf returns the scopes in a claim's texts, separated by U+0020 (RFC 6749, section 3.3).
// Other white space is part of a scope.
func scopesOf(texts []string) (scopes []string) {
	for _, s := range texts {
		for _, scope := range strings.Split(s, " ") {
			if scope != "" {
				scopes = append(scopes, scope)
			}
		}
	}
	return scopes
}

// principal makes the principal from the claims of a valid token; raw is their JSON.
func (i *issuer) principal(claims jwt.MapClaims, raw []byte) (p mcp.Principal, r *refusal) {
	p.Issuer = i.o.URL
	if p.Subject, p.SubjectIsClient, r = i.subject(claims); r != nil {
		return mcp.Principal{}, r
	}
	if p.Scopes, p.Roles, r = i.rights(claims); r != nil {
		return mcp.Principal{}, r
	}
	if p.Client, r = clientOf(claims); r != nil {
		return mcp.Principal{}, r
	}
	if p.Actor, r = i.actor(claims); r != nil {
		return mcp.Principal{}, r
	}
	if p.Forwarded, r = i.forwardedClaims(raw); r != nil {
		return mcp.Principal{}, r
	}
	p.Claims = i.kept(raw)
	id, r := text(claims, "jti")
	if r != nil {
		return mcp.Principal{}, r
	}
	if id != "" {
		sum := sha256.Sum256([]byte(id))
		p.TokenID = hex.EncodeToString(sum[:])
	}
	return p, nil
}

// rights returns the scopes of the first scope claim that exists, and the roles of all role claims.
// A role claim that is null is empty: some issuers write empty lists so.
func (i *issuer) rights(claims jwt.MapClaims) (scopes, roles []string, _ *refusal) {
	for _, path := range i.o.Scopes {
		if v, there := claim(claims, path); there {
			list, r := texts(path, v)
			if r != nil {
				return nil, nil, r
			}
			scopes = scopesOf(list)
			break
		}
	}
	known := map[string]bool{"": true}
	for _, path := range i.o.Roles {
		v, there := claim(claims, path)
		if !there || v == nil {
			continue
		}
		list, r := texts(path, v)
		if r != nil {
			return nil, nil, r
		}
		for _, role := range list {
			if !known[role] {
				known[role] = true
				roles = append(roles, role)
			}
		}
	}
	return scopes, roles, nil
}

// clientOf returns the id of the client to which a token was issued, from the first existing claim
// of clientClaims. It is empty if there is none, or if the claim is not a valid name.
func clientOf(claims jwt.MapClaims) (string, *refusal) {
	for _, name := range clientClaims {
		if _, there := claims[name]; !there {
			continue
		}
		id, r := text(claims, name)
		if r == nil && checkSubject(id) != nil {
			id = ""
		}
		return id, r
	}
	return "", nil
}

// actor returns the actor of the subject, the newest of a chain (RFC 8693, section 4.1).
// Principal.Actor belongs to the subject's issuer, so an actor of another issuer would be
// ambiguous.
func (i *issuer) actor(claims jwt.MapClaims) (string, *refusal) {
	v, there := claims["act"]
	if !there {
		return "", nil
	}
	act, _ := v.(map[string]any)
	s, _ := act["sub"].(string)
	if checkSubject(s) != nil {
		return "", &refusal{reason: ReasonSubject, text: "the access token does not name the actor: its claim act has no valid sub"}
	}
	if name, said := act["iss"]; said && name != i.o.URL {
		return "", &refusal{reason: ReasonSubject, text: "the access token's actor belongs to another issuer (act.iss), which is not accepted"}
	}
	return s, nil
}

// forwardedClaims returns the claims that are sent to backends, as written; nil if none.
func (i *issuer) forwardedClaims(text []byte) (found map[string]json.RawMessage, _ *refusal) {
	paths := i.keptClaims().Forwarded
	for _, path := range paths {
		v := rawClaim(text, path)
		switch {
		case v == nil:
			continue
		case len(v) > maxClaim:
			return nil, &refusal{reason: ReasonTooLarge, text: "a claim of the access token that is forwarded to backends is longer than " + strconv.Itoa(maxClaim) + " bytes"}
		case found == nil:
			found = make(map[string]json.RawMessage, len(paths))
		}
		found[path] = v
	}
	return found, nil
}

// rawClaim is claim for JSON. It returns nil if there is no such claim.
func rawClaim(text []byte, path string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return rawClaimOf(members, path)
}

// rawClaimOf is rawClaim on the members of the object.
func rawClaimOf(members map[string]json.RawMessage, path string) json.RawMessage {
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

// Principal returns the principal for the claims of a token of the issuer, a JSON object. It has
// all claims and the forwarded ones, as of Options.Claims. It verifies nothing, and is for
// explanations only.
func (i Issuer) Principal(raw []byte, forwarded ...string) (mcp.Principal, error) {
	claims := jwt.MapClaims{}
	if err := json.Unmarshal(raw, &claims); err != nil || claims == nil || !uniqueMembers(raw) {
		return mcp.Principal{}, errors.New("the claims are not a JSON object, or have duplicate members")
	}
	var keep atomic.Pointer[KeptClaims]
	keep.Store(&KeptClaims{All: true, Forwarded: forwarded})
	p, why := (&issuer{o: i.withDefaults(nil), keep: &keep}).principal(claims, raw)
	if why != nil {
		return p, why
	}
	return p, nil
}

// KeptClaims are the claims that principals keep.
type KeptClaims struct {
	// Names are those for mcp.Principal.Claims. All keeps every claim there.
	Names []string
	All   bool
	// Forwarded are those for mcp.Principal.Forwarded, see Options.Claims.
	Forwarded []string
}

func (k *KeptClaims) equal(o *KeptClaims) bool {
	return k.All == o.All && slices.Equal(k.Names, o.Names) && slices.Equal(k.Forwarded, o.Forwarded)
}

// of returns a principal, which has all of its claims in Claims, with only the claims that
// principals keep. A nil k keeps none.
func (k *KeptClaims) of(p mcp.Principal) mcp.Principal {
	all := p.Claims
	p.Claims = nil
	if k == nil || len(all) == 0 {
		return p
	}
	p.Claims = all
	if !k.All {
		p.Claims = found(k.Names, func(name string) json.RawMessage { return all[name] })
	}
	p.Forwarded = found(k.Forwarded, func(path string) json.RawMessage { return rawClaimOf(all, path) })
	return p
}

// found returns the named claims for which value returns one. It returns nil if there are none.
func found(names []string, value func(name string) json.RawMessage) (out map[string]json.RawMessage) {
	for _, name := range names {
		if v := value(name); v != nil {
			if out == nil {
				out = make(map[string]json.RawMessage, len(names))
			}
			out[name] = v
		}
	}
	return out
}

// KeepClaims sets the claims that principals keep. Tokens that were verified before are verified
// again. The slices must not be changed afterwards.
func (a *Authenticator) KeepClaims(k KeptClaims) {
	if before := a.keep.Load(); before == nil || !before.equal(&k) {
		a.keep.Store(&k)
	}
}

// keptClaims returns the claims that principals keep by the current settings.
func (i *issuer) keptClaims() *KeptClaims {
	if i.keep != nil {
		if keep := i.keep.Load(); keep != nil {
			return keep
		}
	}
	return &KeptClaims{}
}

// kept returns the claims for mcp.Principal.Claims, each with its own text; nil if none. raw is the
// JSON of all claims.
func (i *issuer) kept(raw []byte) map[string]json.RawMessage {
	keep := i.keptClaims()
	if !keep.All && len(keep.Names) == 0 {
		return nil
	}
	var claims map[string]json.RawMessage
	if json.Unmarshal(raw, &claims) != nil || keep.All {
		return claims
	}
	return found(keep.Names, func(name string) json.RawMessage { return claims[name] })
}
