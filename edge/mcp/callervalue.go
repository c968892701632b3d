package mcp

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// CallerValue is a value that a principal has: a member of its identity, or a claim of its token. The zero value is of none. It is comparable.
type CallerValue struct {
	// from is its name, such as principal.subject, claim the name of the claim; empty: it is no claim.
	from, claim string
}

const callerClaims = "principal.claims."

// callerMembers are the members by their names in policies.
var callerMembers = map[string]func(*Principal) string{
	"principal.subject":   func(p *Principal) string { return p.Subject },
	"principal.issuer":    func(p *Principal) string { return p.Issuer },
	"principal.client_id": func(p *Principal) string { return p.Client },
	"principal.scopes":    func(p *Principal) string { return strings.Join(p.Scopes, " ") },
	"principal.roles":     func(p *Principal) string { return strings.Join(p.Roles, " ") },
}

// CallerValueOf reads the name of a value. False if it is none of CallerValueNames, nor principal.claims.NAME.
func CallerValueOf(name string) (v CallerValue, ok bool) {
	claim, isClaim := strings.CutPrefix(name, callerClaims)
	if isClaim {
		return CallerValue{from: name, claim: claim}, claim != ""
	}
	_, ok = callerMembers[name]
	return CallerValue{from: name}, ok
}

// CallerValueNames are the names of what is no claim, sorted.
func CallerValueNames() []string { return slices.Sorted(maps.Keys(callerMembers)) }

// String is the name.
func (v CallerValue) String() string { return v.from }

// Claim is the claim, one of Principal.Forwarded, whose value it is; empty: it is of none.
func (v CallerValue) Claim() string { return v.claim }

// Of is the value as text; empty: the principal does not have it. A claim is a text, a number or a boolean: others have no value.
func (v CallerValue) Of(p *Principal) string {
	if member := callerMembers[v.from]; member != nil {
		return member(p)
	}
	raw := p.Forwarded[v.claim]
	switch jsonrpc.TypeOf(raw) {
	case jsonrpc.String:
		text, _ := jsonrpc.Unquote(raw)
		return text
	case jsonrpc.Number, jsonrpc.Bool:
		return string(raw)
	}
	return ""
}

// maxMetadataValue bounds a value of gRPC metadata, in bytes.
const maxMetadataValue = 4 << 10

// NotMetadataValue says why a text cannot be a value of gRPC metadata; empty: it can.
func NotMetadataValue(text string) string {
	switch {
	case len(text) > maxMetadataValue:
		return "is above 4 KiB"
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }):
		return "has characters other than those of ASCII that can be printed"
	case strings.TrimSpace(text) != text:
		return "has spaces around it"
	}
	return ""
}
