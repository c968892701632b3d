package capability

import (
	"fmt"
	"reflect"
	"strings"
)

// tagNames are the tags of a field that this package reads.
var tagNames = []string{"json", "header", "required", "title", "description", "jsonschema", "jsonschema_description", "enum", "default", "examples",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems",
	"uniqueItems"}

// tagHabits maps short forms of tags to those that this package reads.
var tagHabits = map[string]string{"min": "minimum", "max": "maximum", "desc": "description"}

// mustBeSpelled panics if a tag is nearly one that this package reads: it would bound or describe
// nothing. Tags of other packages are not looked at.
func (f field) mustBeSpelled() {
	for rest := strings.TrimSpace(string(f.field.Tag)); rest != ""; {
		name, after, ok := strings.Cut(rest, `:"`)
		if !ok {
			return
		}
		if meant := tagMeant(name); meant != "" {
			panic(fmt.Sprintf("capability: field %s: the tag %s is not read: write %s", f.field.Name, name, meant))
		}
		end := 0
		for end < len(after) && after[end] != '"' {
			if after[end] == '\\' {
				end++
			}
			end++
		}
		rest = strings.TrimLeft(after[min(end+1, len(after)):], " ")
	}
}

// tagMeant returns the tag that a name is a misspelling or a short form of, or "".
func tagMeant(name string) string {
	if meant := tagHabits[name]; meant != "" {
		return meant
	}
	for _, known := range tagNames {
		if name == known {
			return ""
		}
	}
	for _, known := range tagNames {
		if strings.EqualFold(name, known) || len(known) > 5 && oneEdit(name, known) {
			return known
		}
	}
	return ""
}

// oneEdit reports whether a and b differ by one letter that is missing, added or another.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return a[min(i+1, len(a)):] == b[min(i+1, len(b)):]
	}
	return a[i:] == b[i+1:]
}

// mustBeExported panics if a struct has members of which none is exported: encoding/json sees none
// of them.
func mustBeExported(t reflect.Type, path string) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous || f.IsExported() || f.Name == "_" {
			return
		}
	}
	if t.NumField() > 0 {
		name := t.Field(0).Name
		panic(fmt.Sprintf("capability: %s: no field of %v is exported, so it has no members in JSON: write %s in place of %s",
			path, t, strings.ToUpper(name[:1])+name[1:], name))
	}
}
