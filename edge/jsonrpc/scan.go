package jsonrpc

import "unicode/utf8"

// fault is why a scan stopped.
type fault uint8

const (
	noFault fault = iota
	faultEnd
	faultUnexpected
	faultEscape
	faultControl
	faultUTF8
	faultDepth
	faultTrailing
)

// scanner is a validating cursor over one JSON text (RFC 8259). Its methods return false once fault
// is set; pos is then the position of the fault. A scanner stays on its caller's stack.
type scanner struct {
	data  []byte
	pos   int
	depth int
	fault fault

	// keyFrom and keyTo delimit the last member name: data[keyFrom:keyTo], without its quotes.
	keyFrom, keyTo int
	keyEscaped     bool
}

func (s *scanner) fail(f fault, at int) bool {
	s.fault, s.pos = f, at
	return false
}

// unexpected sets the fault at pos: a wrong byte or the end of the text.
func (s *scanner) unexpected() bool {
	if s.pos >= len(s.data) {
		return s.fail(faultEnd, len(s.data))
	}
	return s.fail(faultUnexpected, s.pos)
}

func (s *scanner) space() {
	for s.pos < len(s.data) && isSpace(s.data[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// end requires that only space follows.
func (s *scanner) end() bool {
	s.space()
	if s.pos < len(s.data) {
		return s.fail(faultTrailing, s.pos)
	}
	return true
}

// text requires exactly one value with surrounding space.
func (s *scanner) text() bool {
	s.space()
	return s.value() && s.end()
}

// at reports whether the next byte is c.
func (s *scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

// value scans one value that starts at pos. Recursion ends at MaxDepth.
func (s *scanner) value() bool {
	if s.pos >= len(s.data) {
		return s.fail(faultEnd, len(s.data))
	}
	switch c := s.data[s.pos]; c {
	case '"':
		_, ok := s.str()
		return ok
	case '{':
		if !s.open() {
			return false
		}
		for more := s.firstKey(); more; more = s.nextKey() {
			if !s.value() {
				return false
			}
		}
		return s.fault == noFault
	case '[':
		if !s.open() {
			return false
		}
		for more := s.firstElement(); more; more = s.nextElement() {
			if !s.value() {
				return false
			}
		}
		return s.fault == noFault
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		if c == '-' || isDigit(c) {
			return s.number()
		}
		return s.unexpected()
	}
}

// open enters the array or object whose bracket is at pos.
func (s *scanner) open() bool {
	if s.depth == MaxDepth {
		return s.fail(faultDepth, s.pos)
	}
	s.depth++
	s.pos++
	return true
}

// close leaves the array or object whose bracket is at pos. It returns false, because there are no
// more members.
func (s *scanner) close() bool {
	s.depth--
	s.pos++
	return false
}

// firstKey, after open, scans the first name and colon of an object. It returns false at the end of
// the object, which it consumes, and on a fault.
func (s *scanner) firstKey() bool {
	s.space()
	if s.at('}') {
		return s.close()
	}
	return s.key()
}

// nextKey does the same for the next member, after a value.
func (s *scanner) nextKey() bool {
	s.space()
	switch {
	case s.at(','):
		s.pos++
		s.space()
		return s.key()
	case s.at('}'):
		return s.close()
	}
	return s.unexpected()
}

func (s *scanner) key() bool {
	if !s.at('"') {
		return s.unexpected()
	}
	from := s.pos + 1
	escaped, ok := s.str()
	if !ok {
		return false
	}
	s.keyFrom, s.keyTo, s.keyEscaped = from, s.pos-1, escaped
	s.space()
	if !s.at(':') {
		return s.unexpected()
	}
	s.pos++
	s.space()
	return true
}

// name returns the last member name, decoded. It aliases data if it has no escape.
func (s *scanner) name() []byte {
	k := s.data[s.keyFrom:s.keyTo]
	if s.keyEscaped {
		return unescape(nil, k)
	}
	return k
}

// firstElement and nextElement correspond to firstKey and nextKey for arrays.
func (s *scanner) firstElement() bool {
	s.space()
	if s.at(']') {
		return s.close()
	}
	return true
}

func (s *scanner) nextElement() bool {
	s.space()
	switch {
	case s.at(','):
		s.pos++
		s.space()
		return true
	case s.at(']'):
		return s.close()
	}
	return s.unexpected()
}

func (s *scanner) literal(word string) bool {
	for i := range len(word) {
		if !s.at(word[i]) {
			return s.unexpected()
		}
		s.pos++
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// number scans -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (s *scanner) number() bool {
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if !s.digits() {
		return false
	}
	if s.at('.') {
		s.pos++
		if !s.digits() {
			return false
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		return s.digits()
	}
	return true
}

// digits scans at least one digit.
func (s *scanner) digits() bool {
	from := s.pos
	for s.pos < len(s.data) && isDigit(s.data[s.pos]) {
		s.pos++
	}
	if s.pos == from {
		return s.unexpected()
	}
	return true
}

// str scans the string whose quote is at pos and reports whether it has an escape.
func (s *scanner) str() (escaped, ok bool) {
	b := s.data
	i := s.pos + 1
	for {
		i = indexSpecial(b, i)
		if i >= len(b) {
			return escaped, s.fail(faultEnd, len(b))
		}
		switch c := b[i]; {
		case c == '"':
			s.pos = i + 1
			return escaped, true
		case c == '\\':
			escaped = true
			n := escapeLen(b[i:])
			if n == 0 {
				return escaped, s.fail(faultEscape, i)
			}
			i += n
		case c < 0x20:
			return escaped, s.fail(faultControl, i)
		default:
			for i < len(b) && b[i] >= utf8.RuneSelf {
				r, n := utf8.DecodeRune(b[i:])
				if r == utf8.RuneError && n == 1 {
					return escaped, s.fail(faultUTF8, i)
				}
				i += n
			}
		}
	}
}

// escapeLen returns the length of the escape sequence at the start of b, or 0 if there is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

// hex4 parses the four hexadecimal digits at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
