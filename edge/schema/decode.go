package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Decode parses valid JSON into the values that the validator takes, with numbers as text. It fails
// only on numbers that are too large to compute with: their cost grows with their exponent, not
// with their length.
func Decode(raw []byte) (any, error) {
	v, _, err := decodeUpTo(raw, math.MaxInt)
	return v, err
}

// decodeUpTo is Decode with a limit on the number of values, which it returns. It fails with
// ErrCost beyond the limit.
func decodeUpTo(raw []byte, most int) (v any, values int, _ error) {
	d := decoder{raw: raw, left: most}
	v = d.value()
	return v, most - d.left, d.err
}

const (
	maxNumberLen   = 512
	maxNumberPower = 1000
)

type decoder struct {
	raw  []byte
	pos  int
	left int // remaining values
	err  error
}

func (d *decoder) space() {
	for d.pos < len(d.raw) {
		switch d.raw[d.pos] {
		case ' ', '\t', '\r', '\n':
			d.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the next byte, or 0 at the end.
func (d *decoder) next() byte {
	d.space()
	if d.pos >= len(d.raw) {
		return 0
	}
	return d.raw[d.pos]
}

func (d *decoder) value() any {
	if d.left--; d.left < 0 {
		d.err = ErrCost
		return nil
	}
	switch d.next() {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return d.str()
	case 't':
		d.pos += len("true")
		return true
	case 'f':
		d.pos += len("false")
		return false
	case 'n':
		d.pos += len("null")
		return nil
	default:
		return d.number()
	}
}

func (d *decoder) object() any {
	out := make(map[string]any)
	d.pos++
	for c := d.next(); c != '}' && c != 0 && d.err == nil; c = d.next() {
		if c == ',' {
			d.pos++
			d.space()
		}
		key := d.str()
		d.space()
		d.pos++ // the colon
		out[key] = d.value()
	}
	d.pos++
	return out
}

func (d *decoder) array() any {
	out := []any{}
	d.pos++
	for c := d.next(); c != ']' && c != 0 && d.err == nil; c = d.next() {
		if c == ',' {
			d.pos++
		}
		out = append(out, d.value())
	}
	d.pos++
	return out
}

func (d *decoder) str() string {
	from := d.pos
	rest := d.raw[min(from+1, len(d.raw)):]
	if n := bytes.IndexByte(rest, '"'); n >= 0 && bytes.IndexByte(rest[:n], '\\') < 0 {
		d.pos = from + 1 + n + 1
		return string(rest[:n])
	}
	for d.pos++; d.pos < len(d.raw) && d.raw[d.pos] != '"'; d.pos++ {
		if d.raw[d.pos] == '\\' {
			d.pos++
		}
	}
	d.pos = min(d.pos+1, len(d.raw))
	s, _ := jsonrpc.Unquote(d.raw[from:d.pos])
	return s
}

func (d *decoder) number() any {
	from := d.pos
	power := -1
	for d.pos < len(d.raw) && isNumber(d.raw[d.pos]) {
		if c := d.raw[d.pos]; c == 'e' || c == 'E' {
			power = d.pos + 1
		}
		d.pos++
	}
	text := string(d.raw[from:d.pos])
	if text == "" { // not valid JSON after all: stop, to avoid an endless loop
		d.pos = len(d.raw)
		d.err = fmt.Errorf("a value is expected at byte %d", from)
		return nil
	}
	if len(text) > maxNumberLen {
		d.err = fmt.Errorf("a number with %d digits is out of range", len(text))
	} else if power >= 0 {
		if n, err := strconv.Atoi(string(d.raw[power:d.pos])); err != nil || n > maxNumberPower || n < -maxNumberPower {
			d.err = fmt.Errorf("the number %s is out of range", clip(text))
		}
	}
	return json.Number(text)
}

func isNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}
