package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat is JSON with comments and trailing commas, as editors read it. A file without them stays
// without them.
type jsonFormat struct{}

func (jsonFormat) decode(text []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	standard, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return nil, err
	}
	var file map[string]any
	if err := json.Unmarshal(standard, &file); err != nil {
		return nil, err
	}
	if file == nil {
		return nil, fmt.Errorf("it is %s and no object", bytes.TrimSpace(standard))
	}
	return file, nil
}

func (jsonFormat) block(section []string, name string, v values) []byte {
	var nested any = values{name: v}
	for _, s := range slices.Backward(section) {
		nested = values{s: nested}
	}
	return append(indented(nested, "", "  "), '\n')
}

// indented encodes v as indented JSON. Each line after the first begins with prefix.
func indented(v any, prefix, step string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, step)
	_ = e.Encode(v) // cannot fail: v has only texts, numbers, lists and maps
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (f jsonFormat) merge(text []byte, section []string, name string, v values, replace bool) ([]byte, error) {
	was, err := f.decode(text)
	if err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", withoutGoTerms(err))
	}
	if there, found := member(was, append(slices.Clone(section), name)...); found {
		if reflect.DeepEqual(there, decoded(v)) {
			return text, nil
		}
		if !replace {
			return nil, errThere
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return f.block(section, name, v), nil
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	step, end := indentation(text)
	object, prefix := root.Value, ""
	for i, s := range append(slices.Clone(section), name) {
		o, isObject := object.(*hujson.Object)
		if !isObject {
			return nil, fmt.Errorf("%s is not an object", cmp.Or(strings.Join(section[:i], "."), "the file"))
		}
		prefix += step
		m, n := find(o, s)
		if n > 1 {
			return nil, fmt.Errorf("it has %q %d times", s, n)
		}
		if m == nil {
			m = add(o, s, end, prefix, strings.TrimSuffix(prefix, step))
		}
		switch {
		case i == len(section):
			fresh, err := hujson.Parse(bytes.ReplaceAll(indented(v, prefix, step), []byte("\n"), []byte(end)))
			if err != nil {
				return nil, err
			}
			m.Value.Value = fresh.Value
		case m.Value.Value == nil:
			m.Value.Value = &hujson.Object{}
		}
		object = m.Value.Value
	}
	after := root.Pack()
	return after, f.verify(was, after, section, name, v)
}

// withoutGoTerms returns the error of a JSON package without Go's terms.
func withoutGoTerms(err error) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("it is of the type %s", wrong.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
}

// decoded returns v as encoding/json decodes it.
func decoded(v values) any {
	var there any
	_ = json.Unmarshal(indented(v, "", ""), &there)
	return there
}

// member returns the value at a path of a decoded file, and whether it exists.
func member(file map[string]any, path ...string) (any, bool) {
	for i, name := range path {
		v, found := file[name]
		if !found || i == len(path)-1 {
			return v, found
		}
		file, _ = v.(map[string]any)
	}
	return file, true
}

// verify returns an error unless the section of the merged file after has v, and everything else
// equals was. It modifies was.
func (f jsonFormat) verify(was map[string]any, after []byte, section []string, name string, v values) error {
	is, err := f.decode(after)
	if err != nil {
		return err
	}
	got, _ := member(is, append(slices.Clone(section), name)...)
	for _, file := range []map[string]any{was, is} {
		removeMember(file, section, name)
	}
	if !reflect.DeepEqual(got, decoded(v)) || !reflect.DeepEqual(was, is) {
		return errors.New("the entry cannot be added without changing other content")
	}
	return nil
}

// removeMember deletes a member of a section, and the section if that was its last member.
func removeMember(file map[string]any, section []string, name string) {
	object, _ := member(file, section...)
	if servers, isObject := object.(map[string]any); isObject {
		delete(servers, name)
		if len(servers) == 0 {
			parent, _ := member(file, section[:len(section)-1]...)
			delete(parent.(map[string]any), section[len(section)-1])
		}
	}
}

// indentation returns the indentation of a file and its end of line. The indentation is that of the
// second line, or two spaces.
func indentation(text []byte) (step, end string) {
	end = "\n"
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasSuffix(first, []byte("\r")) {
		end = "\r\n"
	}
	line := bytes.TrimLeft(rest, "\r\n")
	if n := len(line) - len(bytes.TrimLeft(line, " \t")); n > 0 {
		return string(line[:n]), end
	}
	return "  ", end
}

// find returns the last member of an object with a name, and the number of members with the name.
func find(o *hujson.Object, name string) (m *hujson.ObjectMember, n int) {
	for i := range o.Members {
		if literal, isText := o.Members[i].Name.Value.(hujson.Literal); isText && literal.String() == name {
			m = &o.Members[i]
			n++
		}
	}
	return m, n
}

// add appends a member without a value to an object, on a new line with the indentation inner. The
// closing brace is on the line after it, with the indentation outer.
func add(o *hujson.Object, name, end, inner, outer string) *hujson.ObjectMember {
	m := hujson.ObjectMember{Name: hujson.Value{BeforeExtra: hujson.Extra(end + inner), Value: hujson.String(name)}}
	m.Value.BeforeExtra = hujson.Extra(" ")
	trailing := len(o.Members) > 0 && o.Members[len(o.Members)-1].Value.AfterExtra != nil
	// Comments before the closing brace move to the new member.
	if before := bytes.TrimRight(o.AfterExtra, " \t\r\n"); len(before) > 0 {
		m.Name.BeforeExtra = append(bytes.Clone(before), m.Name.BeforeExtra...)
	}
	if trailing {
		m.Value.AfterExtra = hujson.Extra{}
	}
	o.Members = append(o.Members, m)
	o.AfterExtra = hujson.Extra(end + outer)
	return &o.Members[len(o.Members)-1]
}
