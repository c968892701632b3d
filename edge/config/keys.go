package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// section is a section of the file. The zero value is an unknown section.
type section struct {
	// path of its key, without the indexes of lists, such as policy.scopes. Empty at the top.
	path string
	// fields is the struct type that has its keys.
	fields reflect.Type
}

// shownKeys is the number of keys of a section that a hint lists.
const shownKeys = 8

// keys returns the keys of the section, in the order of its type.
func (in section) keys() (out []string) {
	if in.fields == nil {
		return nil
	}
	for i := range in.fields.NumField() {
		if key := in.fields.Field(i).Tag.Get("yaml"); key != "" && key != "-" {
			out = append(out, key)
		}
	}
	return out
}

// bySynonym returns the key of the section that has a synonym in its tag "also", or an empty string.
func (in section) bySynonym(key string) string {
	if in.fields == nil {
		return ""
	}
	for i := range in.fields.NumField() {
		f := in.fields.Field(i)
		if slices.Contains(strings.Split(f.Tag.Get("also"), ","), key) && key != "" {
			return f.Tag.Get("yaml")
		}
	}
	return ""
}

// place is where a key may stand: the key of its section, or empty at the top.
type place struct{ key, under string }

// places returns all keys of the configuration file.
func places() []place {
	var out []place
	var walk func(t reflect.Type, under string)
	walk = func(t reflect.Type, under string) {
		for i := range t.NumField() {
			f := t.Field(i)
			key := f.Tag.Get("yaml")
			if key == "" || key == "-" {
				continue
			}
			out = append(out, place{key, under})
			section := f.Type
			for section.Kind() == reflect.Slice || section.Kind() == reflect.Pointer || section.Kind() == reflect.Map {
				section = section.Elem()
			}
			if section.Kind() == reflect.Struct && (under != "kubernetes" || key != "backends") { // It has the keys of a backend.
				walk(section, strings.TrimPrefix(under+"."+key, "."))
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	return out
}

// String returns a description of the place.
func (p place) String() string {
	switch {
	case p.under == "":
		return "at the top, not indented"
	case p.under == "backends":
		return "under a backend of the list backends"
	}
	return "under " + p.under
}

// isNear reports whether the place is in a section that contains the given one or is contained in
// it, as after a wrong indentation.
func (p place) isNear(in section) bool {
	within := func(inner, outer string) bool {
		return inner == outer || outer == "" || strings.HasPrefix(inner, outer+".")
	}
	own := strings.TrimPrefix(p.under+"."+p.key, ".") // the path of the key itself, which may be a section
	return !within(in.path, own) && (within(p.under, in.path) || within(in.path, p.under))
}

// hintFor returns the key that was probably meant by an unknown key of a section, or the section
// that has the unknown key.
func hintFor(written string, in section) string {
	key := asKey(written)
	if advice := pathAdvice(key, in); advice != "" {
		return advice
	}
	if meant := in.bySynonym(key); meant != "" {
		return fmt.Sprintf("%s is not a key of %s: %s may be meant", written, in.path, meant)
	}
	if meant := Nearest(key, in.keys()); meant != "" {
		return fmt.Sprintf("%s, %s, may be meant", meant, place{meant, in.path})
	}
	flag := flagHint(key)
	if flag != "" && isFlagOf(key, in) {
		return flag
	}
	var near, far []string
	for _, p := range places() {
		switch {
		case p.key != key:
		case p.isNear(in):
			near = append(near, p.String())
		case p.under != "" || in.path == "":
			far = append(far, p.String())
		}
	}
	belongs := func(where []string) string { return fmt.Sprintf("%s belongs %s", key, strings.Join(where, ", or ")) }
	keys := in.keys()
	switch isListed := in.path != "" && len(keys) > 0 && len(keys) <= shownKeys; {
	case len(near) > 0:
		return belongs(near)
	case flag != "":
		return flag
	case isListed && len(far) == 1:
		return listed(in, keys) + "; " + belongs(far)
	case isListed:
		return listed(in, keys)
	case len(far) > 0:
		return belongs(far)
	}
	return similarKey(key, in)
}

// listed formats keys of a section as a list for a hint.
func listed(in section, keys []string) string {
	last := len(keys) - 1
	if last == 0 {
		return fmt.Sprintf("%s there is %s alone", place{under: in.path}, keys[0])
	}
	return fmt.Sprintf("%s there are %s and %s", place{under: in.path}, strings.Join(keys[:last], ", "), keys[last])
}

// similarKey returns the key of any section, or the flag, that is most similar to a misspelled one. If there
// is none, it returns the keys of the section that have its word, or all keys of the file's top.
func similarKey(key string, in section) string {
	all := places()
	var names []string
	for _, p := range all {
		names = append(names, p.key)
	}
	for flag := range flagPaths() {
		names = append(names, flag)
	}
	slices.Sort(names)
	meant := Nearest(key, names)
	if i := slices.IndexFunc(all, func(p place) bool { return p.key == meant }); i >= 0 {
		return fmt.Sprintf("%s, %s, may be meant", meant, all[i])
	}
	if meant != "" {
		if keyOfFlag(meant) == "" {
			return fmt.Sprintf("%s may be meant, which is now %s: %s", meant, flagPaths()[meant], flagAsKey(meant))
		}
		return fmt.Sprintf("%s, a flag, may be meant: %s", meant, flagAsKey(meant))
	}
	keys := in.keys()
	related := slices.DeleteFunc(slices.Clone(keys), func(one string) bool { return !strings.Contains(one, singular(key)) })
	switch {
	case len(related) > 0 && len(related) <= shownKeys:
		return strings.Join(related, ", ") + " may be meant"
	case in.path == "" && len(keys) > 0:
		return "the keys of the file are " + strings.Join(keys, ", ")
	}
	return "docs/configuration.md lists the keys"
}

// singular returns a word without the ending of its plural.
func singular(word string) string {
	if stem, ok := strings.CutSuffix(word, "ies"); ok {
		return stem
	}
	return strings.TrimSuffix(word, "s")
}

// asKey spells a name as keys and flags are spelled: MCPEDGE_LOG_LEVEL and logLevel become
// log-level.
func asKey(name string) string {
	name = strings.TrimPrefix(name, environment)
	var out strings.Builder
	var before rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			out.WriteByte('-')
		}
		before = r
		out.WriteRune(unicode.ToLower(r))
	}
	return strings.ReplaceAll(out.String(), "_", "-")
}
