package capability

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// spelling is how the members of a Go value's JSON are spelled. encoding/json takes "Region" for the field "region", too, which whoever
// looked at the arguments before (a schema, the policy of an edge) took for another member. nil: nothing in the value is a struct.
type spelling struct {
	// members of a struct; nil: it is none.
	members map[string]*spelling
	// each is that of what a list or map holds.
	each *spelling
}

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// spellingOf is the spelling of a type. Types that decode themselves have none. known has those that are being made.
func spellingOf(t reflect.Type, known map[reflect.Type]*spelling) *spelling {
	if t.Kind() == reflect.Pointer {
		return spellingOf(t.Elem(), known)
	}
	if p := reflect.PointerTo(t); p.Implements(unmarshalerType) || p.Implements(textUnmarshalerType) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		if s, ok := known[t]; ok {
			return s
		}
		s := &spelling{}
		known[t] = s
		if s.each = spellingOf(t.Elem(), known); s.each == nil {
			known[t] = nil
		}
		return known[t]
	case reflect.Struct:
		if s, ok := known[t]; ok {
			return s
		}
		s := &spelling{members: map[string]*spelling{}}
		known[t] = s
		for _, f := range fieldsOf(t) {
			s.members[f.name] = spellingOf(f.field.Type, known)
		}
		return s
	}
	return nil
}

// check finds a member that is spelled otherwise than its field: as it is, and as it should be; or "". It is asked about JSON that
// encoding/json has decoded into the type.
func (s *spelling) check(text []byte) (is, should string) {
	if s == nil {
		return "", ""
	}
	c := spellCheck{text: text}
	c.value(s)
	return c.is, c.should
}

// spellCheck reads valid JSON once.
type spellCheck struct {
	text       []byte
	at         int
	is, should string
}

func (c *spellCheck) space() {
	for c.at < len(c.text) && (c.text[c.at] == ' ' || c.text[c.at] == '\t' || c.text[c.at] == '\n' || c.text[c.at] == '\r') {
		c.at++
	}
}

// value passes over a value, and checks what is in it.
func (c *spellCheck) value(s *spelling) {
	c.space()
	switch c.text[c.at] {
	case '{':
		c.parts('}', func() { c.member(s) })
	case '[':
		each := (*spelling)(nil)
		if s != nil {
			each = s.each
		}
		c.parts(']', func() { c.value(each) })
	case '"':
		c.at = stringEnd(c.text, c.at)
	default:
		for c.at < len(c.text) && !strings.ContainsRune(" \t\r\n,]}", rune(c.text[c.at])) {
			c.at++
		}
	}
}

// parts passes over what is between brackets, with commas between.
func (c *spellCheck) parts(end byte, part func()) {
	c.at++
	for c.space(); c.text[c.at] != end; c.space() {
		if c.text[c.at] == ',' {
			c.at++
		}
		part()
	}
	c.at++
}

func (c *spellCheck) member(s *spelling) {
	c.space()
	begin := c.at
	c.at = stringEnd(c.text, begin)
	quoted := c.text[begin:c.at]
	c.space()
	c.at++ // the colon
	switch {
	case s == nil:
		c.value(nil)
	case s.members == nil:
		c.value(s.each)
	default:
		c.value(c.field(s, quoted))
	}
}

// field is the spelling of what a struct's member holds.
func (c *spellCheck) field(s *spelling, quoted []byte) *spelling {
	inner := quoted[1 : len(quoted)-1]
	if of, ok := s.members[string(inner)]; ok {
		return of
	}
	name := string(inner)
	if strings.Contains(name, `\`) {
		_ = json.Unmarshal(quoted, &name) // it was decoded before
	}
	if of, ok := s.members[name]; ok {
		return of
	}
	for own := range s.members {
		if strings.EqualFold(own, name) {
			c.is, c.should = name, own
		}
	}
	return nil
}
