package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ValueType is the type of a JSON value.
type ValueType uint8

// The types of JSON values. Invalid means that the first byte begins none of them.
const (
	Invalid ValueType = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the type's name as in JSON Schema ("null", "boolean", …), or "invalid".
func (t ValueType) String() string {
	switch t {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	default:
		return "invalid"
	}
}

// article returns the type's name with its article.
func (t ValueType) article() string {
	switch t {
	case Null:
		return "null"
	case Array, Object:
		return "an " + t.String()
	case Invalid:
		return "not JSON"
	default:
		return "a " + t.String()
	}
}

// TypeOf returns the type of a value by its first byte after white space. It does not validate.
func TypeOf(raw []byte) ValueType {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case 'n':
			return Null
		case 't', 'f':
			return Bool
		case '"':
			return String
		case '[':
			return Array
		case '{':
			return Object
		}
		if c == '-' || isDigit(c) {
			return Number
		}
		return Invalid
	}
	return Invalid
}

// Valid reports whether data is exactly one JSON value (RFC 8259, surrounding space allowed) in
// valid UTF-8, nested at most [MaxDepth] deep.
func Valid(data []byte) bool {
	s := scanner{data: data}
	return s.text()
}

// Members calls fn with each member of an object, in the order of the text, including duplicates.
// Names are decoded, as string or, without an allocation per member, as []byte that must not be
// changed; values alias obj. Members stops at an error of fn and returns it. If obj is not one
// valid object the error is a [*ParseError], and fn was called for the members before the fault.
func Members[K string | []byte](obj []byte, fn func(key K, value json.RawMessage) error) error {
	s := scanner{data: obj}
	s.space()
	if !s.at('{') {
		if !s.text() {
			return s.parseError()
		}
		return &ParseError{
			Code:    CodeInvalidRequest,
			Message: fmt.Sprintf("%s is %s where an object is expected", excerpt(bytes.TrimSpace(obj)), TypeOf(obj).article()),
		}
	}
	s.open()
	for more := s.firstKey(); more; more = s.nextKey() {
		from := s.pos
		key := s.name()
		if !s.value() {
			break
		}
		if err := fn(K(key), json.RawMessage(obj[from:s.pos:s.pos])); err != nil {
			return err
		}
	}
	if s.fault != noFault || !s.end() {
		return s.parseError()
	}
	return nil
}

// Elements calls fn with each element of an array until fn returns false. It returns false if fn
// did, and for anything except one valid array. Elements alias array.
func Elements(array []byte, fn func(value json.RawMessage) bool) bool {
	s := scanner{data: array}
	s.space()
	if !s.at('[') || !s.open() {
		return false
	}
	for more := s.firstElement(); more; more = s.nextElement() {
		from := s.pos
		if !s.value() || !fn(json.RawMessage(array[from:s.pos:s.pos])) {
			return false
		}
	}
	return s.fault == noFault && s.end()
}

// Member returns a top-level member of an object by its exact name. The last of several duplicates
// is used, as in encoding/json. The value aliases obj. It returns false if there is no such member
// or obj is not one valid object.
func Member(obj []byte, key string) (json.RawMessage, bool) {
	s := scanner{data: obj}
	s.space()
	if !s.at('{') {
		return nil, false
	}
	s.open()
	var found json.RawMessage
	for more := s.firstKey(); more; more = s.nextKey() {
		from := s.pos
		match := string(s.name()) == key
		if !s.value() {
			return nil, false
		}
		if match {
			found = obj[from:s.pos:s.pos]
		}
	}
	if s.fault != noFault || !s.end() {
		return nil, false
	}
	return found, found != nil
}

// Compact appends raw without the space between its tokens. Strings, numbers and the order of
// members are unchanged. raw should be valid JSON; other text is copied by the same rule.
func Compact(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		c := raw[i]
		from := i
		i++
		switch {
		case isSpace(c):
			continue
		case c == '"':
			i = stringEnd(raw, i)
		default:
			for i < len(raw) && raw[i] != '"' && !isSpace(raw[i]) {
				i++
			}
		}
		dst = append(dst, raw[from:i]...)
	}
	return dst
}

// stringEnd returns the index after the closing quote of the string whose text begins at i.
func stringEnd(raw []byte, i int) int {
	for i < len(raw) {
		switch raw[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		i++
	}
	return len(raw)
}

// HasRawNewline reports whether a JSON text spans several lines: whether it contains a line feed or
// a carriage return, which in valid JSON occur only between tokens.
func HasRawNewline(raw []byte) bool {
	return bytes.IndexByte(raw, '\n') >= 0 || bytes.IndexByte(raw, '\r') >= 0
}
