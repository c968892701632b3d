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

// Principal is the caller as the edge verified it. It never holds the token. The zero value is the
// anonymous caller. Compare principals by Key or Is.
type Principal struct {
	Subject string
	Issuer  string
	// SubjectIsClient means that Subject is the id of a client that acts for itself; a user may
	// have the same subject.
	SubjectIsClient bool `json:",omitempty"`
	Scopes          []string
	// Roles are as the issuer names them.
	Roles []string
	// Client is the OAuth client that the credentials were issued to. Empty means unknown.
	Client string
	// Actor is the actor for the subject, at the same issuer. Empty means the subject itself.
	Actor string
	// Forwarded are the claims of the credentials that are sent to backends, by name, each a JSON
	// value. The map is shared and must not be changed.
	Forwarded map[string]json.RawMessage
	// Claims are the claims that policy inspects, by name. Each is the JSON value of the issuer, so
	// that the digits of numbers are preserved. The map is shared and must not be changed. Records
	// of calls have them, for a replica that reruns the call; records of sessions do not. nil means
	// none.
	Claims map[string]json.RawMessage `json:",omitempty"`
	// TokenID is the SHA-256 of the token's id (the claim jti), of the API key or of the client
	// certificate, in hexadecimal. It is for records, and finds the API key. Empty means none.
	TokenID string `json:",omitempty"`
	// Until is when the credentials expire; zero means unknown. Streams end then, calls do not.
	Until time.Time
}

// Identity returns p without its rights: scopes, roles, claims and Until are empty. Records of
// requests name it.
func (p Principal) Identity() Principal {
	p.Scopes, p.Roles, p.Forwarded, p.Claims, p.Until = nil, nil, nil, nil, time.Time{}
	return p
}

// SameRights reports whether two credentials of a caller are the same or give the same rights. It
// does not compare the claims of credentials without an id.
func (p *Principal) SameRights(q *Principal) bool {
	return p.TokenID == q.TokenID && p.Client == q.Client && p.Actor == q.Actor &&
		slices.Equal(p.Scopes, q.Scopes) && slices.Equal(p.Roles, q.Roles)
}

// Anonymous reports whether the caller is unauthenticated.
func (p Principal) Anonymous() bool { return p.Subject == "" }

// Outlasts reports whether credentials that expire at a outlast those that expire at b, with zero
// as in Principal.Until.
func Outlasts(a, b time.Time) bool {
	return !b.IsZero() && (a.IsZero() || a.After(b))
}

// IsName reports whether a text is a valid name: non-empty UTF-8 that does not look like another
// name because of invisible characters. So it has no white space but U+0020, none at its ends, and
// no character that isBlank. U+FFFD is not allowed either: a decoder inserts it for an invalid
// character.
func IsName(s string) bool {
	return s != "" && utf8.ValidString(s) && s[0] != ' ' && s[len(s)-1] != ' ' && !strings.ContainsFunc(s, isBlank)
}

// isBlank reports whether a character is invisible or looks like another one, except U+0020:
// controls, characters that applications ignore (Unicode, Default_Ignorable_Code_Point: ZWJ, soft
// hyphens, fillers, variations, tags), other spaces, and symbols without ink.
func isBlank(r rune) bool {
	switch {
	case r == ' ', unicode.Is(unicode.Prepended_Concatenation_Mark, r): // Cf, but visible
		return false
	case r == utf8.RuneError, r == '\u2800', r == '\U0001D159':
		return true
	}
	return IsControl(r) || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Zs)
}

// IsControl reports whether a character ends a line or changes the order of its neighbours:
// controls (C0, C1 and DEL), the separators of lines and paragraphs, and those of writing
// direction.
func IsControl(r rune) bool {
	if r <= unicode.MaxASCII { // names are mostly ASCII, and the tables have no ASCII characters
		return unicode.IsControl(r)
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Key identifies the principal: all requests of one caller have the same key, whatever their scopes
// are. It is empty for an anonymous caller. The separators occur neither in an issuer's URL nor in
// a name (IsName).
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

// AppendIdentity appends everything that lists may depend on: subject, issuer, scopes, roles, and
// those of the named claims that the principal has. Principals that differ in any of that have
// different results.
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

// appendText appends a text with its length.
func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
