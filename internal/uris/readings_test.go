package uris

import (
	"slices"
	"strings"
	"testing"
)

// The readings of a variable have every value that a backend may give it.
func TestReadings(t *testing.T) {
	const only, other, never, none = "acme", "another", "never", "none"
	for template, c := range map[string]map[string][]string{
		"crm://{tenant}/plan/{id}": {
			only: {"crm://acme/plan/1", "CRM://acme/plan/1", "crm://%61cme/plan/1", "crm://acme/plan/1#x", "crm://acme/plan/1?tenant=globex", "crm://acme/plan/a:b", "crm://acme/./plan/1"},
			other: {
				"crm://globex/plan/1", "crm://GLOBEX/plan/1", "crm://Acme/plan/1", "crm://%67lobex/plan/1", "crm://%2567lobex/plan/1", "crm://globex%2Fplan%2F1", "crm://globex%2Fplan%2F100%25",
				"crm://globex/plan/1%zz", "crm://globex/plan/a%20b", "crm://globex%2Fplan%2Fa%20b", "crm://globex/plan/a:b", "crm://globex/plan/1/", "crm://globex/plan/1?x", "crm://globex/plan/1#x",
				"crm://globex//plan/1", "crm:///plan/1", "crm://acme.globex/plan/1", "crm://acme:80/plan/1", "crm://acme%00/plan/1", `crm://globex\plan\1`, "crm://acme%2520/plan/1",
			},
			never: {"crm://acme/../globex/plan/1", "crm://acme/..%2Fglobex/plan/1", "crm://acme@globex/plan/1", "crm://acme%2F..%2Fglobex/plan/1"},
			none:  {"crm://acme", "other://globex/plan/1", "crm://globex/plans/1", "crm://globex/plan/1/2"},
		},
		"crm://plan{?tenant,year}": {
			only:  {"crm://plan?tenant=acme", "crm://plan?tenant=acme&year=1", "crm://plan?tenant=acme&year=a%2Fb%26c%3D"},
			other: {"crm://plan?tenant=globex", "crm://plan?tenant=globex&year=1", "crm://plan?tenant="},
			never: {"crm://plan", "crm://plan?", "crm://plan?year=1", "crm://plan?year=1&tenant=acme", "crm://plan?tenant=acme&tenant=globex", "crm://plan%3Ftenant=globex?tenant=acme", "crm://plan?TENANT=acme", "crm://plan?tenant=acme&year=%26tenant%3Dglobex", "crm://plan?tenant=acme&year=1%26Tenant[]=globex"},
			none:  {"crm://plans?tenant=globex"},
		},
		"crm://plan?tenant={tenant}&path={path}": {
			only:  {"crm://plan?tenant=acme&path=1"},
			never: {"crm://plan", "crm://plan?tenant=acme&path=a/b", "crm://plan?path=1&tenant=acme", "crm://plan?tenant=acme&tenant=globex&path=1"},
		},
		"crm://plan?x={+rest}&tenant={tenant}": {
			only:  {"crm://plan?x=1&tenant=acme", "crm://plan?x=1&y=2&tenant=acme"},
			never: {"crm://plan?x=1&tenant=globex&y=2&tenant=acme", "crm://plan?tenant=acme", "crm://plan?x=1"},
		},
		"crm://{tenant}/f/{+path}": {
			only:  {"crm://acme/f/a/b", "crm://acme/f/a?b"},
			never: {"crm://acme/f/../../globex/f/a", "crm://acme/f/%2e%2e/%2e%2e/globex/f/a", `crm://acme/f/..\..\globex\f\a`},
			other: {"crm://globex/f/a"},
			none:  {"crm://acme/g/a"},
		},
		"crm:{/tenant}/f/{+path}": {
			only:  {"crm:/acme/f/a"},
			never: {"crm:/f/a", "crm:/acme/f/../../f/a"},
			other: {"crm:/globex/f/a"},
		},
		"crm://{tenant}-{id}": {
			only:  {"crm://acme-1"},
			never: {"crm://acme-globex-1"},
		},
	} {
		parsed, err := Parse(template)
		if err != nil {
			t.Fatal(err)
		}
		r, err := parsed.ReadingsOf("tenant")
		if err != nil {
			t.Fatal(err)
		}
		for want, all := range c {
			for _, uri := range all {
				read := r.Of(uri, Forms(uri))
				got := other
				switch {
				case read.none():
					got = none
				case read.Absent || len(read.Values) > 1:
					got = never
				case read.Values[0] == only:
					got = only
				}
				if got != want && (want != other || got != never) && (want != never || got != other) {
					t.Errorf("%s: %s is %s: %+v, want %s", template, uri, got, read, want)
				}
			}
		}
	}
}

// Variables are replaced by values in the text of a template, whose expansions do not change.
func TestBind(t *testing.T) {
	for text, want := range map[string]string{
		"crm://{tenant}/plan/{id}":  "crm://a%20b%2F/plan/{id}",
		"crm://{+tenant}/plan/{id}": "crm://a%20b//plan/{id}",
		"crm://{tenant,id}":         "crm://a%20b%2F,{id}",
		"crm:{/tenant,id}":          "crm:/a%20b%2F{/id}",
		"crm:x{?tenant,id}":         "crm:x?tenant=a%20b%2F{&id}",
		"crm:x{&tenant}{&id}":       "crm:x&tenant=a%20b%2F{&id}",
		"crm:x{;tenant,id*}":        "crm:x;tenant=a%20b%2F{;id*}",
		"crm:x{#tenant,id}":         "crm:x#a%20b/,{+id}",
		"crm:{id}":                  "crm:{id}",
	} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Bind(map[string]string{"tenant": "a b/"})
		if err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", text, got, err, want)
			continue
		}
		rest, err := Parse(got)
		if err != nil {
			t.Error(err)
			continue
		}
		all := map[string]string{"tenant": "a b/", "id": "7"}
		if a, b := rest.Expand(all), parsed.Expand(all); a != b {
			t.Errorf("%s expands to %q, and %s to %q", got, a, text, b)
		}
	}
	for _, text := range []string{"crm:{id,tenant}", "crm:{?id,tenant}"} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parsed.Bind(map[string]string{"tenant": "a"}); err == nil {
			t.Errorf("%s is %q", text, got)
		}
	}
}

// A variable of which a URI may have only a part cannot be compared.
func TestNoReadings(t *testing.T) {
	for _, text := range []string{"crm:{id}", "crm:{tenant:3}", "crm:{/tenant*}"} {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsed.ReadingsOf("tenant"); err == nil {
			t.Errorf("%s has readings", text)
		}
	}
}

// The value that a match finds is among the readings, and so is that of each form.
func FuzzReadings(f *testing.F) {
	for _, uri := range []string{"crm://acme/plan/1", "crm://a%2Fb/plan/%31", "crm://a/../b/plan/1", "crm://plan?tenant=a&id=%2", "crm://a,b"} {
		for _, text := range []string{"crm://{tenant}/plan/{id}", "crm://plan{?tenant,id}", "crm://{+id}{tenant}", "crm://{id*,tenant}"} {
			f.Add(text, uri)
		}
	}
	f.Fuzz(func(t *testing.T, text, uri string) {
		parsed, err := Parse(text)
		if err != nil || len(uri) > 512 {
			return
		}
		r, err := parsed.ReadingsOf("tenant")
		if err != nil {
			return
		}
		forms := Forms(uri)
		read := r.Of(uri, forms)
		for _, form := range append([]string{uri}, forms...) {
			vars, ok := parsed.Match(form)
			if !ok || strings.ContainsRune(form, '\uFFFD') {
				continue
			}
			value, there := vars["tenant"]
			if there && !slices.Contains(read.Values, value) && len(read.Values) < 2 {
				t.Errorf("%s: %s as %s has %q, which %+v lacks", text, uri, form, value, read)
			}
			if !there && !read.Absent && len(read.Values) == 0 {
				t.Errorf("%s: %s as %s has no value, and %+v", text, uri, form, read)
			}
		}
	})
}
