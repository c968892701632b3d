package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// source is a file of settings as it was written: where its keys are, and what is wrong with its values that a decoder would take. Nil: there is none.
type source struct {
	file string
	raw  []byte
	// misplaced are errors of names of files, each with its place.
	misplaced error
	// unknown are the keys that their section does not have, in the order of the file.
	unknown []unknownKey
	// lines of the keys and of the entries of lists, by their paths, such as limits.page-size and backends[0].
	lines map[string]int
	// faults of values.
	faults []error
}

// position is a line and a column, both from 1.
type position struct{ line, column int }

// unknownKey is a key that its section does not have.
type unknownKey struct {
	key string
	at  position
	in  section
}

// newSource reads the text of a file. empty: it has no settings. An error of its syntax is the decoder's to tell.
func newSource(file string, raw []byte) (s *source, empty bool) {
	s = &source{file: file, raw: raw, lines: map[string]int{}}
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
	s.walk(documents[0].Body, reflect.TypeFor[Config](), "")
	return s, false
}

// blank reports whether a node says nothing.
func blank(n ast.Node) bool {
	switch n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return true
	}
	return false
}

// walk notes the lines of what is below a node, which stands at a path, and holds the values against the type that they are decoded to; nil: any.
func (s *source) walk(n ast.Node, t reflect.Type, path string) {
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

// noDuration tells of a list or a section where a duration is wanted, of which the decoder tells no place.
func (s *source) noDuration(n ast.Node, t reflect.Type, path string) {
	if t == reflect.TypeFor[time.Duration]() {
		s.fault(n, path, "it is no duration: write a number with its unit, such as 30s")
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
	member := memberOf(t, key)
	if member == nil && t != nil && t.Kind() == reflect.Struct {
		s.unknown = append(s.unknown, unknownKey{key, position{where.Line, where.Column}, section{withoutIndexes(path), t}})
	}
	s.walk(v.Value, member, at)
}

// element is the type of the entries of a list; nil: any.
func element(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Slice || t == reflect.TypeFor[Names]() {
		return nil
	}
	return t.Elem()
}

// memberOf is the type of a member of a section or a map; nil: any.
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

// mayBeZero are the keys of which the documentation says what 0 means. That of others would be taken for their default.
var mayBeZero = []string{
	"memory", "drain-delay", "grace", "limits.connections", "limits.connections-per-address", "limits.sessions-per-address",
	"limits.task-replicas", "limits.connection-age", "auth.issuers.skew",
}

// scalar checks numbers, sizes and durations, of which the decoder takes 1.5 for 1, and tells no place.
func (s *source) scalar(n ast.ScalarNode, t reflect.Type, path string) {
	if t == nil {
		return
	}
	text := n.GetToken().Value
	var zero bool
	var err error
	switch {
	case t == reflect.TypeFor[time.Duration]():
		var d time.Duration
		d, err = parseDuration(text)
		zero = d == 0
	case t == reflect.TypeFor[Bytes]():
		var b Bytes
		b, err = ParseBytes(text)
		zero = b == 0
	case t.Kind() == reflect.Int:
		var i int64
		if i, err = strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64); err != nil {
			err = fmt.Errorf("%.40q is no whole number", text)
		}
		zero = i == 0
	default:
		return
	}
	switch {
	case err != nil && secretive.MatchString(text):
		s.fault(n, path, "its value is none of its kind")
	case err != nil:
		s.fault(n, path, err.Error())
	case zero && !slices.Contains(mayBeZero, withoutIndexes(path)):
		s.fault(n, path, text+": give a value above 0, or leave the key out for its default")
	}
}

// withoutIndexes is a path without the numbers of the entries of lists.
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

// place puts the file and the line before each of the errors of a validation that is about a key of the file, which it begins with. The keys of
// others are those that the environment or a flag has set since.
func (s *source) place(err error, others []string) error {
	if s == nil || err == nil {
		return err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, one := range joined.Unwrap() {
			errs = append(errs, s.place(one, others))
		}
		return errors.Join(errs...)
	}
	if path := s.pathOf(err.Error()); s.own(path, others) {
		return fmt.Errorf("config %s:%d: %w", s.file, s.lines[path], err)
	}
	return err
}

// own reports whether a path is in the file and its key is not one of others.
func (s *source) own(path string, others []string) bool {
	return path != "" && !slices.Contains(others, withoutIndexes(path))
}

// pathOf is the longest path of the file that an error begins with, as in "backends[0] calc: tls.cert: it is …"; empty: none.
func (s *source) pathOf(text string) (path string) {
	for i, part := range strings.SplitN(text, ": ", 6) {
		word, _, _ := strings.Cut(part, " ")
		if path != "" {
			word = path + "." + word
		}
		for word != "" && word != path && s.lines[word] == 0 {
			word = word[:max(strings.LastIndexByte(word, '.'), 0)]
		}
		if word != "" {
			path = word
		}
		if i == 0 && path == "" {
			return ""
		}
	}
	return path
}
