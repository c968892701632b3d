package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// source is the parsed settings file, with the positions of its keys and the errors that the
// decoder would accept. nil means that there is no file.
type source struct {
	origins
	raw []byte
	// whole is true for the file of settings, and false for files of other owners.
	whole bool
	// misplaced are errors of file names, each with its position; see resolveNames.
	misplaced error
	// unknown are the unknown keys, in the order of the file.
	unknown []unknownKey
	// faults of values.
	faults []error
	// paths maps the positions of values to their keys.
	paths map[position]string
}

// position is a line and a column, both from 1.
type position struct{ line, column int }

// unknownKey is a key that its section does not have.
type unknownKey struct {
	key string
	at  position
	in  section
}

// newSource parses a file whose settings are of type t. empty is true if it has no settings. It
// ignores syntax errors, which the decoder reports.
func newSource(file string, raw []byte, t reflect.Type) (s *source, empty bool) {
	s = &source{origins: origins{file: file, lines: map[string]int{}}, raw: raw, paths: map[position]string{}, whole: t == reflect.TypeFor[Config]()}
	parsed, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return s, false
	}
	documents := slices.DeleteFunc(slices.Clone(parsed.Docs), func(d *ast.DocumentNode) bool { return blank(d.Body) })
	if len(documents) == 0 {
		return s, true
	}
	if len(documents) > 1 {
		s.fault(documents[1].Body, "", "a second document begins here: put all settings into one")
	}
	s.walk(documents[0].Body, t, "")
	return s, false
}

// blank reports whether a node is nil, null or empty.
func blank(n ast.Node) bool {
	switch n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return true
	}
	return false
}

// walk records the lines of the nodes below n, which is at path, and checks the values against t,
// the type that they are decoded to; nil means any type.
func (s *source) walk(n ast.Node, t reflect.Type, path string) {
	if n != nil && n.GetToken() != nil {
		at := n.GetToken().Position
		s.paths[position{at.Line, at.Column}] = path
	}
	section := t != nil && t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		s.walk(n.Value, t, path)
	case *ast.TagNode:
		s.walk(n.Value, t, path)
	case *ast.MappingNode:
		s.noDuration(n, t, path)
		for _, v := range n.Values {
			s.member(v, t, path)
		}
	case *ast.MappingValueNode:
		s.member(n, t, path)
	case *ast.SequenceNode:
		s.noDuration(n, t, path)
		for i, v := range n.Values {
			at := path + "[" + strconv.Itoa(i) + "]"
			s.lines[at] = v.GetToken().Position.Line
			s.walk(v, element(t), at)
		}
	case *ast.NullNode:
		switch {
		case path == "" || t == nil:
		case section:
			s.fault(n, path, "there is nothing below it: write what it should say, {} for its defaults, or take it out")
		case t.Kind() == reflect.Slice:
			s.fault(n, path, "there is nothing below it: write its entries, [] for none, or take it out")
		default:
			s.fault(n, path, "it has no value: write one, or take it out")
		}
	case ast.ScalarNode:
		s.scalar(n, t, path)
	}
}

// noDuration records an error for a list or section in the place of a duration: the decoder's error
// has no position.
func (s *source) noDuration(n ast.Node, t reflect.Type, path string) {
	if t == reflect.TypeFor[time.Duration]() {
		s.fault(n, path, "it is not a duration: write a number with its unit, such as 30s")
	}
}

func (s *source) member(v *ast.MappingValueNode, t reflect.Type, path string) {
	if v.Key.IsMergeKey() {
		s.walk(v.Value, t, path)
		return
	}
	key := v.Key.GetToken().Value
	at := strings.TrimPrefix(path+"."+key, ".")
	where := v.Key.GetToken().Position
	s.lines[at] = where.Line
	if s.whole && s.former(v, at) {
		return
	}
	member := memberOf(t, key)
	if member == nil && t != nil && t.Kind() == reflect.Struct {
		s.unknown = append(s.unknown, unknownKey{key, position{where.Line, where.Column}, section{withoutIndexes(path), t}})
	}
	s.walk(v.Value, member, at)
}

// element returns the type of a list's entries; nil means any.
func element(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Slice || t == reflect.TypeFor[Names]() {
		return nil
	}
	return t.Elem()
}

// memberOf returns the type of a member of a section or map; nil means any.
func memberOf(t reflect.Type, key string) reflect.Type {
	switch {
	case t == nil:
		return nil
	case t.Kind() == reflect.Map:
		return t.Elem()
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name == key {
				return t.Field(i).Type
			}
		}
	}
	return nil
}

// scalar checks numbers, sizes and durations: the decoder reads 1.5 as 1, and its errors have no
// position.
func (s *source) scalar(n ast.ScalarNode, t reflect.Type, path string) {
	if t == nil {
		return
	}
	text := n.GetToken().Value
	var value int64
	var err error
	switch {
	case t == reflect.TypeFor[time.Duration]():
		var d time.Duration
		d, err = ParseDuration(text)
		value = int64(d)
	case t == reflect.TypeFor[Bytes]():
		var b Bytes
		b, err = ParseBytes(text)
		value = int64(b)
	case t.Kind() == reflect.Int:
		if value, err = strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64); err != nil {
			err = fmt.Errorf("%.40q is not a whole number", text)
		}
	default:
		return
	}
	advice := outOfRange(withoutIndexes(path), value)
	switch {
	case err != nil && secretive.MatchString(text):
		s.fault(n, path, "its value is none of its kind")
	case err != nil:
		s.fault(n, path, err.Error())
	case advice != "":
		s.fault(n, path, text+": "+advice)
	}
}

// withoutIndexes removes the indexes of list entries from a path.
func withoutIndexes(path string) string {
	var out strings.Builder
	for rest := path; rest != ""; {
		before, after, found := strings.Cut(rest, "[")
		out.WriteString(before)
		if !found {
			break
		}
		_, rest, _ = strings.Cut(after, "]")
	}
	return out.String()
}

func (s *source) fault(n ast.Node, path, what string) {
	if path != "" {
		what = path + ": " + what
	}
	s.faults = append(s.faults, fmt.Errorf("config %s:%d: %s", s.file, n.GetToken().Position.Line, what))
}
