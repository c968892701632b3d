package config

import (
	"strings"
	"testing"
)

// A backend without a prefix or URIs of its own is noted, unless there is no other backend, or it
// serves nothing that needs them.
func TestUnclaimed(t *testing.T) {
	unknown := func(string) (names, uris bool) { return true, true }
	c := Config{Backends: []Backend{{Name: "a"}}}
	if notes := c.Unclaimed(unknown); notes != nil {
		t.Errorf("one alone: %q", notes)
	}
	c.Kubernetes = &Kubernetes{}
	if notes := c.Unclaimed(unknown); len(notes) != 1 {
		t.Errorf("beside those of a cluster: %q", notes)
	}
	c.Backends = append(c.Backends, Backend{Name: "b", Prefix: "b_"}, Backend{Name: "c", URIs: Names{"c://"}},
		Backend{Name: "d", Prefix: "d_", URIs: Names{"d://"}}, Backend{Name: "e", Prefix: "e_", Kind: KindReflect})
	notes := c.Unclaimed(unknown)
	if len(notes) != 3 || !strings.Contains(notes[0], "no prefix and no uris") || !strings.Contains(notes[1], "b: it has no uris") || !strings.Contains(notes[2], "c: it has no prefix:") {
		t.Errorf("got %q", notes)
	}
	for want, serves := range map[string][2]bool{
		"backends[0] a: it has no prefix: |backends[2] c: it has no prefix: ": {true, false},
		"backends[0] a: it has no uris: |backends[1] b: it has no uris: ":     {false, true},
		"": {},
	} {
		notes := c.Unclaimed(func(string) (names, uris bool) { return serves[0], serves[1] })
		starts := strings.FieldsFunc(want, func(r rune) bool { return r == '|' })
		if len(notes) != len(starts) {
			t.Errorf("%v: %q", serves, notes)
			continue
		}
		for i, start := range starts {
			if !strings.HasPrefix(notes[i], start) {
				t.Errorf("%v: %q, want %q", serves, notes[i], start)
			}
		}
	}
}

// Backends that have the same prefix, or the same beginning of URIs, are noted.
func TestSharedClaims(t *testing.T) {
	c := Config{Backends: []Backend{
		{Name: "a", Prefix: "ops_", URIs: Names{"a:", "x://y/"}}, {Name: "b", Prefix: "b_", URIs: Names{"b:"}}, {Name: "c", Prefix: "ops_", URIs: Names{"x://y/"}},
	}}
	notes := c.Unclaimed(func(string) (names, uris bool) { return true, true })
	if len(notes) != 2 || !strings.HasPrefix(notes[0], `backends[2] c: its prefix "ops_" is that of backends[0] a, too: `) ||
		!strings.HasPrefix(notes[1], `backends[2] c: uris: "x://y/" is given to backends[0] a, too: `) {
		t.Errorf("got %q", notes)
	}
	if notes := c.Unclaimed(func(name string) (names, uris bool) { return name != "a", false }); notes != nil {
		t.Errorf("one that serves neither: %q", notes)
	}
}

func TestURIPrefixes(t *testing.T) {
	for uri, want := range map[string]string{"docs://a/": "", "x:": "", "a/b": "no scheme", "": "no scheme", "a://{x}": "template"} {
		b := Backend{Name: "a", Target: "localhost:1", URIs: Names{uri}}
		errs := b.validateTarget(0)
		if (len(errs) == 0) != (want == "") || want != "" && !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%q: %v, want %q", uri, errs, want)
		}
	}
	b := Backend{Name: "a", Target: "localhost:1", URIs: Names{"a:", "a:"}}
	if errs := b.validateTarget(0); len(errs) != 1 {
		t.Errorf("one that is there twice: %v", errs)
	}
}

func TestKubernetesPrefix(t *testing.T) {
	text := func(s string) *string { return &s }
	for want, prefix := range map[string]*string{"team_": nil, "": text(""), "team.tea/": text("{namespace}.{service}/"), "x_": text("x_")} {
		if got := (&Kubernetes{Prefix: prefix}).PrefixOf("team", "tea"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if errs := (&Kubernetes{Prefix: text("a b")}).validate(); len(errs) != 1 {
		t.Errorf("got %v", errs)
	}
}
