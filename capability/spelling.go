package capability

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// spelling is the exact spelling of the members of a Go value's JSON. encoding/json ignores case:
// it decodes "Region" into the field "region". A schema or a policy that inspected the arguments
// before has seen another member. It also drops members that a struct does not have. nil means that
// the value contains no struct.
type spelling struct {
	// members of a struct; nil if the value is not a struct.
	members map[string]*spelling
	// open allows unknown members; the struct has a schema of its own.
	open bool
	// each is the spelling of the elements of a list or map.
	each *spelling
}

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// spellingOf returns the spelling of a type. Types that decode themselves have none. known holds
// the spellings under construction.
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
		s := &spelling{members: map[string]*spelling{}, open: implements(t, describedType)}
		known[t] = s
		for _, f := range fieldsOf(t) {
			s.members[f.name] = spellingOf(f.field.Type, known)
		}
		return s
	}
	return nil
}

// check returns an error about a member whose spelling differs from its field and, if closed, about
// one that its struct does not have. text is JSON that encoding/json has decoded into the type.
func (s *spelling) check(text []byte, closed bool) error {
	if s == nil {
		return nil
	}
	c := spellCheck{text: text, closed: closed}
	c.value(s)
	switch {
	case c.should != "":
		return Errorf(InvalidArgument, "unknown argument %q: it is spelled %q", c.is, c.should)
	case c.of != nil && len(c.of.members) == 0:
		return Errorf(InvalidArgument, "unknown argument %q: there are none", c.is)
	case c.of != nil:
		known := fmt.Sprintf("%q", slices.Sorted(maps.Keys(c.of.members)))
		return Errorf(InvalidArgument, "unknown argument %q: known are %s", c.is, strings.ReplaceAll(strings.Trim(known, "[]"), `" "`, `", "`))
	}
	return nil
}

// spellCheck scans valid JSON once.
type spellCheck struct {
	text       []byte
	closed     bool
	at         int
	is, should string
	of         *spelling // the struct that does not have the member; nil if none was found
}

func (c *spellCheck) space() {
	for c.at < len(c.text) && (c.text[c.at] == ' ' || c.text[c.at] == '\t' || c.text[c.at] == '\n' || c.text[c.at] == '\r') {
		c.at++
	}
}

// value skips a value and checks its members.
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

// parts skips the elements between brackets, which commas separate.
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
	c.at++ // skips the colon
	switch {
	case s == nil:
		c.value(nil)
	case s.members == nil:
		c.value(s.each)
	default:
		c.value(c.field(s, quoted))
	}
}

// field returns the spelling of a struct member's value.
func (c *spellCheck) field(s *spelling, quoted []byte) *spelling {
	inner := quoted[1 : len(quoted)-1]
	if of, ok := s.members[string(inner)]; ok {
		return of
	}
	name := string(inner)
	if strings.Contains(name, `\`) {
		_ = json.Unmarshal(quoted, &name) // decoding it has succeeded before
	}
	if of, ok := s.members[name]; ok {
		return of
	}
	for own := range s.members {
		if strings.EqualFold(own, name) {
			c.is, c.should = name, own
			return nil
		}
	}
	if c.closed && !s.open && c.should == "" && c.of == nil {
		c.is, c.of = name, s
	}
	return nil
}
