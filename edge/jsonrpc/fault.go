package jsonrpc

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// parseError returns where and why the scan stopped.
func (s *scanner) parseError() *ParseError {
	e := &ParseError{Code: CodeParseError, Offset: s.pos}
	if s.fault == faultDepth {
		e.Code = CodeInvalidRequest
		e.Message = fmt.Sprintf("the message nests deeper than %d levels at byte %d; send a flatter one", MaxDepth, s.pos)
		return e
	}
	e.Message = fmt.Sprintf("malformed JSON at byte %d: %s", s.pos, s.describe())
	return e
}

func (s *scanner) describe() string {
	switch s.fault {
	case faultEnd:
		if len(bytes.TrimLeft(s.data, " \t\r\n")) == 0 {
			return "the text is empty; send one JSON-RPC message"
		}
		return "the text ends too early; send the whole message"
	case faultEscape:
		return `an invalid escape sequence in a string; only \" \\ \/ \b \f \n \r \t and \uXXXX are allowed`
	case faultControl:
		return fmt.Sprintf("the control character %#02x in a string; escape it", s.data[s.pos])
	case faultUTF8:
		return fmt.Sprintf("the byte %#02x is not valid UTF-8; encode the text as UTF-8", s.data[s.pos])
	case faultTrailing:
		return fmt.Sprintf("unexpected %s after the end of the value; send one value only", s.found())
	default:
		if s.pos == 0 && bytes.HasPrefix(s.data, []byte("\xef\xbb\xbf")) {
			return "a byte order mark; send UTF-8 without one"
		}
		return "unexpected " + s.found()
	}
}

// found formats the character at pos.
func (s *scanner) found() string {
	r, n := utf8.DecodeRune(s.data[s.pos:])
	if r == utf8.RuneError && n == 1 {
		return fmt.Sprintf("byte %#02x", s.data[s.pos])
	}
	return strconv.QuoteRune(r)
}

// excerpt returns the beginning of a value in one line of printable ASCII.
func excerpt(raw []byte) string {
	const most = 32
	if len(raw) > most {
		return strconv.QuoteToASCII(string(raw[:most])) + "…"
	}
	return strconv.QuoteToASCII(string(raw))
}
