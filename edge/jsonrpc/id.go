package jsonrpc

import (
	"errors"
	"fmt"
	"strconv"
)

// ID is a request id exactly as received, that is, its JSON text: 1 and "1" are different ids, and
// so are 1 and 1.0. The zero ID is an absent one. IDs are comparable and can be map keys.
type ID struct{ raw string }

// NewID returns an id with the given JSON text, which must be what [Parse] accepts as an id: a
// string, or a number without an exponent whose fraction, if any, is zero; at most [MaxIDLen]
// bytes, without surrounding space.
func NewID(raw string) (ID, error) {
	b := []byte(raw)
	s := scanner{data: b}
	if !s.value() || s.pos != len(b) {
		return ID{}, fmt.Errorf("jsonrpc: %s is not an id; give the JSON text of a string or an integer", excerpt(b))
	}
	if why := idDefect(b); why != "" {
		return ID{}, errors.New("jsonrpc: " + why)
	}
	return ID{raw}, nil
}

// IntID returns the id n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// StringID returns the id s, quoted by [AppendString]. The caller keeps s well below [MaxIDLen].
func StringID(s string) ID {
	return ID{string(AppendString(make([]byte, 0, len(s)+2), s))}
}

// IsZero reports whether the id is absent.
func (id ID) IsZero() bool { return id.raw == "" }

// Raw returns the id's JSON text. It is empty if the id is absent.
func (id ID) Raw() string { return id.raw }

// String returns the id for logs and traces: the unquoted string, or the number's text. 1 and "1"
// give the same text; use Raw to distinguish them.
func (id ID) String() string {
	if len(id.raw) == 0 || id.raw[0] != '"' {
		return id.raw
	}
	s, _ := Unquote([]byte(id.raw))
	return s
}

// idDefect returns why a valid JSON value is not an id, or "".
func idDefect(raw []byte) string {
	if len(raw) > MaxIDLen {
		return fmt.Sprintf("the id has %d bytes; at most %d are allowed", len(raw), MaxIDLen)
	}
	switch TypeOf(raw) {
	case String:
		return ""
	case Number:
		if isInteger(raw) {
			return ""
		}
		return fmt.Sprintf("the id %s is not an integer; use an integer or a string", excerpt(raw))
	case Null:
		return "the id is null; use an integer or a string, or leave it out of a notification"
	default:
		return fmt.Sprintf("the id is %s; use an integer or a string", TypeOf(raw).article())
	}
}

// isInteger reports whether a valid JSON number has no exponent and only zeros as its fraction,
// which languages print whose only number is the float.
func isInteger(raw []byte) bool {
	fraction := false
	for _, c := range raw {
		switch {
		case c == 'e' || c == 'E':
			return false
		case c == '.':
			fraction = true
		case fraction && c != '0':
			return false
		}
	}
	return true
}
