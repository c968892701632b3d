package reflect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/edge/reflect/schema"
)

// Canonical rewrites the arguments of a tool, a valid JSON object, to one canonical form among
// those that protobuf's JSON mapping accepts for the same message. Policies and schemas thus see
// the values that the service will. It replaces names of members by their JSON names, removes nulls
// that leave a field unset, replaces quoted integers and numbers of enums by numbers and names, and
// converts paths of field masks to lowerCamelCase where possible. It leaves unreadable values for
// the schema to refuse. The result may share memory with the arguments, and everything else in it
// is unchanged. It returns an error if two members set the same field. For unknown tools it returns
// the arguments unchanged.
func (a *Adapter) Canonical(tool string, arguments []byte) (_ []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the arguments cannot be read: %v", p)
		}
	}()
	m, _ := a.current()
	if m == nil || m.methods[tool] == nil {
		return arguments, nil
	}
	c := newCanon(knownTypes{m.types, m.any}, arguments)
	return c.root(m.methods[tool].desc.Input())
}

// sameForAll returns an error if the JSON of a message is not canonical: the policy and the schema
// may have read another message in it.
func sameForAll(types types, text []byte, md protoreflect.MessageDescriptor) error {
	c := newCanon(types, text)
	tok, first, err := c.next()
	if err == nil {
		err = c.message(md, tok, first)
	}
	if err != nil || !c.changed {
		return err
	}
	return errors.New("a google.protobuf.Any holds a message in another form than the canonical one: send members by their JSON names, " +
		"without null, enums by name and whole numbers without quotes")
}

// maxAny bounds the nesting of google.protobuf.Any.
const maxAny = 8

// canon rewrites a JSON text token by token. It copies unchanged tokens.
type canon struct {
	types types
	raw   []byte
	d     *json.Decoder
	out   []byte
	// changed reports that out differs from raw in more than white space.
	changed bool
	// anys is the number of enclosing Any.
	anys int
	// lifted collects the field masks that protojson cannot parse, which are replaced by
	// placeholders; nil disables that.
	lifted *[][]string
}

func newCanon(types types, raw []byte) *canon {
	c := &canon{types: types, raw: raw, d: json.NewDecoder(bytes.NewReader(raw)), out: make([]byte, 0, len(raw))}
	c.d.UseNumber()
	return c
}

// root rewrites arguments. The message may be a member of them, see Wrapper.
func (c *canon) root(md protoreflect.MessageDescriptor) ([]byte, error) {
	tok, text, err := c.next()
	switch {
	case err != nil:
	case !schema.Wrapped(md):
		err = c.message(md, tok, text)
	case tok != json.Delim('{'):
		return c.raw, nil
	default:
		err = c.object(func(name string) error {
			tok, text, err := c.next()
			if err == nil && name == schema.Wrapper {
				return c.message(md, tok, text)
			}
			return c.copy(tok, text, err)
		})
	}
	if err != nil || !c.changed {
		return c.raw, err
	}
	return c.out, nil
}

// next reads a token, and returns its text as well.
func (c *canon) next() (json.Token, []byte, error) {
	before := c.d.InputOffset()
	tok, err := c.d.Token()
	if err != nil {
		return nil, nil, err
	}
	return tok, bytes.TrimLeft(c.raw[before:c.d.InputOffset()], " \t\r\n,:"), nil
}

// copy copies the value that begins with a token.
func (c *canon) copy(tok json.Token, text []byte, err error) error {
	if err != nil {
		return err
	}
	raw, err := c.rest(tok, text)
	c.out = append(c.out, raw...)
	return err
}

// rest returns the text of the value that begins with a token.
func (c *canon) rest(tok json.Token, text []byte) ([]byte, error) {
	start := int(c.d.InputOffset()) - len(text)
	for depth := nesting(tok); depth > 0; {
		tok, err := c.d.Token()
		if err != nil {
			return nil, err
		}
		depth += nesting(tok)
	}
	return c.raw[start:c.d.InputOffset()], nil
}

func nesting(tok json.Token) int {
	switch tok {
	case json.Delim('{'), json.Delim('['):
		return 1
	case json.Delim('}'), json.Delim(']'):
		return -1
	}
	return 0
}

// object rewrites an object whose first token was read. value rewrites a member's value.
func (c *canon) object(value func(name string) error) error {
	c.out = append(c.out, '{')
	for first := true; c.d.More(); first = false {
		tok, text, err := c.next()
		if err != nil {
			return err
		}
		name, _ := tok.(string)
		if !first {
			c.out = append(c.out, ',')
		}
		c.out = append(append(c.out, text...), ':')
		if err := value(name); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	_, err := c.d.Token()
	return err
}

// message rewrites a message that begins with a token.
func (c *canon) message(md protoreflect.MessageDescriptor, tok json.Token, text []byte) error {
	switch name := md.FullName(); {
	case name == "google.protobuf.FieldMask":
		return c.mask(tok, text)
	case name == "google.protobuf.Any":
		return c.any(tok, text)
	case schema.Wrapped(md) && md.Fields().Len() == 1 && md.Fields().ByName("value") != nil:
		return c.element(md.Fields().ByName("value"), tok, text)
	case schema.IsWellKnown(md), tok != json.Delim('{'):
		return c.copy(tok, text, nil)
	}
	return c.fields(md)
}

// fields rewrites the fields of a message whose first token was read.
func (c *canon) fields(md protoreflect.MessageDescriptor) error {
	seen := map[protoreflect.FullName]string{}
	c.out = append(c.out, '{')
	for first := true; c.d.More(); {
		tok, key, err := c.next()
		if err != nil {
			return err
		}
		name, _ := tok.(string)
		fd := c.field(md, name)
		if fd != nil {
			if before, twice := seen[fd.FullName()]; twice {
				return fmt.Errorf("%.64q and %.64q name one field of %s: send it once", before, name, md.FullName())
			}
			seen[fd.FullName()] = name
		}
		tok, text, err := c.next()
		if err != nil {
			return err
		}
		if tok == nil && fd != nil && !takesNull(fd) {
			c.changed = true
			continue
		}
		if !first {
			c.out = append(c.out, ',')
		}
		first = false
		if fd != nil && !fd.IsExtension() && fd.JSONName() != name {
			c.changed = true
			if key, err = json.Marshal(fd.JSONName()); err != nil {
				return err
			}
		}
		c.out = append(append(c.out, key...), ':')
		if fd == nil {
			err = c.copy(tok, text, nil)
		} else {
			err = c.value(fd, tok, text)
		}
		if err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	_, err := c.d.Token()
	return err
}

// field returns the field for a member's name as protojson finds it, or nil.
func (c *canon) field(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
		x, err := c.types.FindExtensionByName(protoreflect.FullName(name[1 : len(name)-1]))
		if err != nil {
			return nil
		}
		return x.TypeDescriptor()
	}
	if fd := md.Fields().ByJSONName(name); fd != nil {
		return fd
	}
	return md.Fields().ByTextName(name)
}

// takesNull reports whether null sets a field.
func takesNull(fd protoreflect.FieldDescriptor) bool {
	if fd.IsList() || fd.IsMap() {
		return false
	}
	return fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Value" ||
		fd.Enum() != nil && fd.Enum().FullName() == "google.protobuf.NullValue"
}

// value rewrites the value of a field that begins with a token.
func (c *canon) value(fd protoreflect.FieldDescriptor, tok json.Token, text []byte) error {
	switch {
	case fd.IsMap() && tok == json.Delim('{'):
		return c.object(func(string) error {
			tok, text, err := c.next()
			if err != nil {
				return err
			}
			return c.element(fd.MapValue(), tok, text)
		})
	case fd.IsList() && tok == json.Delim('['):
		c.out = append(c.out, '[')
		for first := true; c.d.More(); first = false {
			tok, text, err := c.next()
			if err != nil {
				return err
			}
			if !first {
				c.out = append(c.out, ',')
			}
			if err := c.element(fd, tok, text); err != nil {
				return err
			}
		}
		c.out = append(c.out, ']')
		_, err := c.d.Token()
		return err
	case fd.IsMap() || fd.IsList():
		return c.copy(tok, text, nil)
	}
	return c.element(fd, tok, text)
}

// element rewrites one value of a field, of a list or of a map.
func (c *canon) element(fd protoreflect.FieldDescriptor, tok json.Token, text []byte) error {
	if fd.Message() != nil {
		return c.message(fd.Message(), tok, text)
	}
	switch x := tok.(type) {
	case string:
		if isInteger(fd.Kind()) && isDecimal(x) {
			c.changed = true
			c.out = append(c.out, x...)
			return nil
		}
	case json.Number:
		n, err := strconv.ParseInt(x.String(), 10, 32)
		if ed := fd.Enum(); err == nil && ed != nil && ed.FullName() != "google.protobuf.NullValue" {
			if v := ed.Values().ByNumber(protoreflect.EnumNumber(n)); v != nil {
				c.changed = true
				c.out = append(append(append(c.out, '"'), v.Name()...), '"')
				return nil
			}
		}
	}
	return c.copy(tok, text, nil)
}

func isInteger(kind protoreflect.Kind) bool {
	switch kind {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind,
		protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return true
	}
	return false
}

// isDecimal reports whether a text is an integer in JSON of at most 20 digits.
func isDecimal(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > 20 || digits[0] == '0' && text != "0" {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}

// any rewrites the message in an Any by its type.
func (c *canon) any(tok json.Token, text []byte) error {
	raw, err := c.rest(tok, text)
	if err != nil {
		return err
	}
	t, err := c.types.FindMessageByURL(typeURL(raw))
	switch {
	case err != nil || tok != json.Delim('{') || schema.IsWellKnown(t.Descriptor()):
		c.out = append(c.out, raw...)
		return nil
	case c.anys == maxAny:
		return fmt.Errorf("google.protobuf.Any is nested more than %d deep: nest it less", maxAny)
	}
	inner := newCanon(c.types, raw)
	inner.anys = c.anys + 1
	out, err := inner.root(t.Descriptor())
	c.changed = c.changed || inner.changed
	c.out = append(c.out, out...)
	return err
}

// typeURL returns the member @type of an object, or an empty string.
func typeURL(raw []byte) (url string) {
	c := newCanon(resolver{}, raw)
	tok, _, err := c.next()
	if err != nil || tok != json.Delim('{') {
		return ""
	}
	if err := c.object(func(name string) error {
		tok, text, err := c.next()
		if text, is := tok.(string); is && name == "@type" {
			url = text
			return io.EOF
		}
		return c.copy(tok, text, err)
	}); err != nil && err != io.EOF {
		return ""
	}
	return url
}
