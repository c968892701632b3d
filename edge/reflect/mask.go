package reflect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// mask rewrites a field mask: it converts paths in snake case to lowerCamelCase if that conversion
// is reversible.
func (c *canon) mask(tok json.Token, text []byte) error {
	said, is := tok.(string)
	if !is {
		return c.copy(tok, text, nil)
	}
	paths := strings.Split(said, ",")
	if c.lifted != nil && slices.ContainsFunc(paths, unreadable) {
		for i, path := range paths {
			if !strings.Contains(path, "_") {
				paths[i] = snakePath(path)
			}
		}
		*c.lifted = append(*c.lifted, paths)
		c.changed = true
		c.out = fmt.Appendf(c.out, "%q", fmt.Sprint(placeholder, len(*c.lifted)-1))
		return nil
	}
	for i, path := range paths {
		if inCamel := camel(path); snakePath(inCamel) == path {
			paths[i] = inCamel
		}
	}
	if rewritten := strings.Join(paths, ","); rewritten != said {
		quoted, err := json.Marshal(rewritten)
		if err != nil {
			return err
		}
		c.changed = true
		c.out = append(c.out, quoted...)
		return nil
	}
	return c.copy(tok, text, nil)
}

// unreadable reports whether protojson refuses a path that services accept: in snake case, or with
// an asterisk.
func unreadable(path string) bool { return strings.ContainsAny(path, "_*") }

// snakePath converts aField.other to a_field.other.
func snakePath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// placeholder begins the path that replaces a mask until the message is decoded. No service has
// such a field.
const placeholder = "mcpedgeLiftedMask"

// readMessage decodes JSON to a message. It accepts masks whose paths protojson refuses.
func readMessage(types types, text []byte, in *dynamicpb.Message) error {
	read := protojson.UnmarshalOptions{Resolver: types}
	err := read.Unmarshal(text, in)
	if err == nil {
		return nil
	}
	var masks [][]string
	c := newCanon(types, text)
	c.lifted = &masks
	tok, first, failed := c.next()
	if failed == nil {
		failed = c.message(in.Descriptor(), tok, first)
	}
	if failed != nil || len(masks) == 0 {
		return err
	}
	if err := read.Unmarshal(c.out, in); err != nil {
		return err
	}
	putMasks(in, masks)
	return nil
}

// putMasks replaces placeholders by their masks.
func putMasks(m protoreflect.Message, masks [][]string) {
	if m.Descriptor().FullName() == "google.protobuf.FieldMask" {
		list := m.Mutable(m.Descriptor().Fields().ByName("paths")).List()
		var n int
		if list.Len() != 1 {
			return
		}
		if _, err := fmt.Sscanf(list.Get(0).String(), snakePath(placeholder)+"%d", &n); err != nil || n < 0 || n >= len(masks) {
			return
		}
		list.Truncate(0)
		for _, path := range masks[n] {
			list.Append(protoreflect.ValueOfString(path))
		}
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					putMasks(v.Message(), masks)
					return true
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				putMasks(v.List().Get(i).Message(), masks)
			}
		default:
			putMasks(v.Message(), masks)
		}
		return true
	})
}
