package mcp

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Principal is who is calling, as the edge verified it. It never holds the token. The zero value is
// the anonymous caller. Principals are compared by Key, or by Is.
type Principal struct {
	Subject string
	Issuer  string
	// SubjectIsClient: Subject is the id of a client that acts for itself, and no user's, who may have the same one.
	SubjectIsClient bool `json:",omitempty"`
	Scopes          []string
	// Roles as the issuer names them.
	Roles []string
	// Client is the OAuth client that the credentials were issued to; empty: not said.
	Client string
	// Actor is who acts for the subject, at the same issuer; empty: the subject itself.
	Actor string
	// Forwarded are the claims of the credentials that backends are told, by name, each a JSON value. The map is shared, and not
	// to be changed.
	Forwarded map[string]json.RawMessage
	// Claims are those of the credentials that policy looks at, by name, each the JSON value that its issuer wrote, so that numbers
	// keep their digits. The map is shared and read only. Records of calls have them, for the replica that runs a call again; those
	// of sessions do not. nil: there are none.
	Claims map[string]json.RawMessage `json:",omitempty"`
	// TokenID is the SHA-256 of the id of the token that the credentials are (the claim jti), in hexadecimal, for records;
	// empty: it has none.
	TokenID string `json:",omitempty"`
	// Until is when the credentials have ceased to be good; zero: not known. Streams end then, calls do not.
	Until time.Time
}

// Identity returns p without its rights: scopes, roles, claims and Until are empty. It is what records of requests name.
func (p Principal) Identity() Principal {
	p.Scopes, p.Roles, p.Forwarded, p.Claims, p.Until = nil, nil, nil, nil, time.Time{}
	return p
}

// SameRights reports whether the credentials of a caller are the same, or say the same of what it may. Of credentials without an id it
// does not look at the claims.
func (p *Principal) SameRights(q *Principal) bool {
	return p.TokenID == q.TokenID && p.Client == q.Client && p.Actor == q.Actor &&
		slices.Equal(p.Scopes, q.Scopes) && slices.Equal(p.Roles, q.Roles)
}

// Anonymous reports whether nobody vouched for the caller.
func (p Principal) Anonymous() bool { return p.Subject == "" }

// Outlasts reports whether credentials that are good until a are good for longer than those until b, as Principal.Until
// says.
func Outlasts(a, b time.Time) bool {
	return !b.IsZero() && (a.IsZero() || a.After(b))
}

// IsName reports whether a text may name somebody: it is UTF-8, not empty, and looks like no other name that differs from it by what
// shows as nothing. So it has no space but U+0020, and none at its ends, and no character that isBlank. U+FFFD is none either: a
// decoder puts it where something was no character.
func IsName(s string) bool {
	return s != "" && utf8.ValidString(s) && s[0] != ' ' && s[len(s)-1] != ' ' && !strings.ContainsFunc(s, isBlank)
}

// isBlank reports whether a character shows as nothing or as another one, but for U+0020: controls, what applications are to ignore
// where they cannot show it (Unicode, Default_Ignorable_Code_Point: ZWJ, soft hyphens, fillers, variations, tags), other spaces, and
// symbols without ink.
func isBlank(r rune) bool {
	switch {
	case r == ' ', unicode.Is(unicode.Prepended_Concatenation_Mark, r): // Cf, and shows
		return false
	case r == utf8.RuneError, r == '\u2800', r == '\U0001D159':
		return true
	}
	return IsControl(r) || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Zs)
}

// IsControl reports whether a character ends a line or turns what stands around it: controls (C0, C1 and DEL), the separators of
// lines and paragraphs, and those of writing direction.
func IsControl(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Key identifies the principal: two requests of the same caller have the same key, whatever their
// scopes. The anonymous caller's key is empty. The separators cannot occur in an issuer's URL, nor in a name (IsName).
func (p Principal) Key() string {
	switch {
	case p.Subject == "":
		return ""
	case p.SubjectIsClient:
		return p.Issuer + "\x00\x00" + p.Subject
	}
	return p.Issuer + "\x00" + p.Subject
}

// Is reports whether two principals have the same Key, without making it.
func (p *Principal) Is(q *Principal) bool {
	return p.Subject == q.Subject && (p.Subject == "" || p.Issuer == q.Issuer && p.SubjectIsClient == q.SubjectIsClient)
}

// AppendIdentity appends all that lists may depend on: who it is, by whom, with which scopes and roles, and those of the
// named claims that it has. What differs in any of that has another one.
func (p Principal) AppendIdentity(dst []byte, claims []string) []byte {
	isClient := byte(0)
	if p.SubjectIsClient {
		isClient = 1
	}
	dst = append(dst, isClient)
	for _, s := range [...]string{p.Issuer, p.Subject, p.Client, p.Actor} {
		dst = appendText(dst, s)
	}
	for _, list := range [...][]string{p.Scopes, p.Roles} {
		dst = binary.AppendUvarint(dst, uint64(len(list)))
		for _, s := range list {
			dst = appendText(dst, s)
		}
	}
	for _, name := range claims {
		if v, ok := p.Forwarded[name]; ok {
			dst = appendText(appendText(dst, name), string(v))
		}
	}
	return dst
}

// appendText appends a text so that it is known where it ends.
func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
