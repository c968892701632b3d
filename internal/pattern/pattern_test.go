package pattern_test

import (
	"testing"

	"github.com/mcpedge/mcpedge/internal/pattern"
)

func TestMatch(t *testing.T) {
	for text, names := range map[string]map[string]bool{
		"":           {"": true, "a": false},
		"find":       {"find": true, "finder": false, "afind": false, "Find": false},
		"delete_*":   {"delete_": true, "delete_user": true, "delete_user/all": false, "undelete_user": false},
		"*":          {"": true, "any": true, "a/b": false, "a\nb": true},
		"**":         {"": true, "a/b/c": true, "a\nb": true},
		"file://**":  {"file:///a/b": true, "file:/a": false},
		"a/*/c":      {"a/b/c": true, "a/b/b/c": false, "a//c": true},
		"a/**/c":     {"a/b/b/c": true, "a/c": false},
		"***":        {"a/b": true},
		"**a*b":      {"x/a/ab": true, "x/a/b": false, "ab": true},
		"a.b[c]?(d)": {"a.b[c]?(d)": true, "axbc": false},
		"*@v?":       {"x@v?": true, "x@v1": false},
	} {
		p := pattern.New(text)
		for name, want := range names {
			if p.Match(name) != want {
				t.Errorf("%q matches %q: %t", text, name, !want)
			}
		}
		if p.String() != text {
			t.Errorf("%q is printed as %q", text, p)
		}
	}
}

func TestList(t *testing.T) {
	l := pattern.NewList([]string{"a", "b*"})
	if !l.Match("a") || !l.Match("bc") || l.Match("ab") || pattern.NewList(nil).Match("") {
		t.Error("a list does not match what one of its patterns does")
	}
	if !l.Equal(pattern.NewList([]string{"a", "b*"})) || l.Equal(pattern.NewList([]string{"b*", "a"})) {
		t.Error("lists are equal that are not, or the reverse")
	}
}
