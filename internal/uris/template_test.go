package uris

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yosida95/uritemplate/v3"
)

func mustParse(t testing.TB, text string) *Template {
	t.Helper()
	template, err := Parse(text)
	if err != nil {
		t.Fatalf("%.100q: %v", text, err)
	}
	return template
}

func TestParse(t *testing.T) {
	many := "x://"
	for i := range MaxVariables + 1 {
		many += fmt.Sprintf("{v%d}", i)
	}
	for text, want := range map[string]string{
		"x://{":                             "is not part of an expression",
		"x://}":                             "is not part of an expression",
		"x://{a{b}}":                        "is not part of an expression",
		"x://{}":                            "is not a name",
		"x://{a..b}":                        "is not a name",
		"x://{=a}":                          "is not a name",
		"x://{a:0}":                         "from 1 to 9999",
		"x://{a:10000}":                     "from 1 to 9999",
		"x://{a:1*}":                        "from 1 to 9999",
		"x://{a}/{a}":                       "the variable a twice",
		"x://a b/{c}":                       "%20",
		"x://%zz/{c}":                       "is not an escape",
		"x://\x00{c}":                       "control character U+0000",
		"x://\xff{c}":                       "not valid UTF-8",
		"x://" + strings.Repeat("a", 8<<10): "at most 8192",
		many:                                "exceeds the limit of 64 variables",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	if got := mustParse(t, "FILE://Host/%7Ecafé{/Path*}{?q,a.b:3}"); got.Normal() != "file://host/~caf%C3%A9{/Path*}{?q,a.b:3}" ||
		!slices.Equal(got.Variables(), []string{"Path", "q", "a.b"}) || got.Prefix() != "file://host/~caf%C3%A9" ||
		!slices.Equal(got.Forms(), []string{got.Normal(), "file://host/~café{/Path*}{?q,a.b:3}"}) {
		t.Errorf("%q, %q, %q, %q", got.Normal(), got.Variables(), got.Prefix(), got.Forms())
	}
}

func TestMatch(t *testing.T) {
	const none = "none"
	for _, c := range []struct{ template, uri, want string }{
		{"x://items/{id}", "x://items/a%20b", "id=a b"},
		{"x://items/{id}", "X://items/%61%2fb", "id=a/b"},
		{"x://items/{id}", "x://items/a b", none},
		{"x://items/{id}", "x://items/é", none},
		{"x://items/{id}", "x://items/%zz", none},
		{"x://items/{id}", "x://items/", "id="},
		{"X://items/{id}", "x://items/1", "id=1"},
		{"file:///docs/café/{name}", "file:///docs/caf%C3%A9/menu", "name=menu"},
		{"file:///docs/café/{name}", "file:///docs/caf%c3%a9/menu", "name=menu"},
		{"file:///docs/café/{name}", "file:///docs/café/menu", "name=menu"},
		{"file:///docs/caf%c3%a9/{name}", "file:///docs/caf%C3%A9/menu", "name=menu"},
		{"http://Docs.example/{name}", "HTTP://docs.EXAMPLE/Menu", "name=Menu"},
		{"http://{sub}.Example/{name}", "http://A.example/Menu", "name=Menu sub=A"},
		{"docs://Host/{name}", "docs://host/x", none},
		{"x://a%2Fb/{c}", "x://a/b/c", none},
		{"x://found{?q,page}", "x://found?page=2", "page=2"},
		{"x://found{?q,page}", "x://found?q=1&page=2", "page=2 q=1"},
		{"x://found{?q,page}", "x://found?page=2&q=1", none},
		{"x://found{?q}{&page}", "x://found?page=2", "page=2"},
		{"x://file/{name}.{ext}", "x://file/a.tar.gz", "ext=gz name=a.tar"},
		{"x://file/{name}{.ext}", "x://file/a.gz", "name=a.gz"},
		{"x://span/{a}-{b}-{c}", "x://span/1-2-3-4", "a=1-2 b=3 c=4"},
		{"x://path/{+path}/{c}", "x://path/a?b=c#d/e", "c=e path=a?b=c#d"},
		{"x://path{/path*}", "x://path/a/b%2Fc", "path=a,b/c"},
		{"x://tags{?tag*}", "x://tags?tag=a&tag=b", "tag=a,b"},
		{"x://tags{;tag*}", "x://tags;tag=a;tag=b", "tag=a,b"},
		{"x://name/{name:3}{rest}", "x://name/%C3%A9abc", "name=éab rest=c"},
		{"x://name/{name:3}", "x://name/abcd", none},
		{"x://f{#part}", "x://f#%73ecret", "part=secret"},
		{"x://span/{a}-{b}-{c}", "x://span/%2D-%2d-", "a=- b=- c="},
		{"x://span/{a}-{b}-{c}", "X://span/%2D-%2d-", "a=-- b= c="},
		{"x://{a,b}", "x://1,2,3", "a=1 b=2,3"},
		{"x://{a}", "x://%F0%9F%92x%E2%82", "a=\uFFFDx\uFFFD"},
		{"{+any}", "x://a", "any=x://a"},
		{"x://plain", "X://plain", ""},
	} {
		got := none
		values, ok := mustParse(t, c.template).Match(c.uri)
		if ok {
			var all []string
			for _, name := range slices.Sorted(maps.Keys(values)) {
				all = append(all, name+"="+values[name])
			}
			got = strings.Join(all, " ")
		}
		if got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.template, c.uri, got, c.want)
		}
		if mustParse(t, c.template).Matches(c.uri) != ok {
			t.Errorf("%s of %s: Matches differs from Match", c.template, c.uri)
		}
	}
}

// hostile are templates that make other matchers slow.
func hostile() (out []string) {
	var prefixed, adjacent, dashed, queries strings.Builder
	for i := range MaxVariables {
		fmt.Fprintf(&prefixed, "{v%d:9999}", i)
		fmt.Fprintf(&adjacent, "{+v%d}", i)
		fmt.Fprintf(&dashed, "{v%d}-", i)
		fmt.Fprintf(&queries, "{&v%d*}", i)
	}
	return []string{"x://" + prefixed.String(), "x://" + adjacent.String(), "x://" + dashed.String(), "x://" + queries.String(),
		"x://{a}" + strings.Repeat("a", 4000) + "{b}", "x://{a}" + strings.Repeat("ab", 2000) + "{b}"}
}

// A match takes a few steps per byte of the URI and part of the template.
func TestMatchIsLinear(t *testing.T) {
	most := 0.0
	for _, text := range hostile() {
		template := mustParse(t, text)
		for _, unit := range []string{"a", "-", ",", "ab", "%20", "&v1=", "&v1=a", "aaab"} {
			uri := "x://" + strings.Repeat(unit, (MaxBytes-10)/len(unit))
			_, steps := template.match(uri, map[string]string{})
			most = max(most, float64(steps)/float64(len(template.parts)*len(uri)))
		}
	}
	// A part searches for at most three words, two steps per byte each, and for a value and its
	// end, twice for a list, in two spellings.
	if most > 24 || most == 0 {
		t.Errorf("%.1f steps for each byte and each part, want 24 at most", most)
	}
}

// drawn returns a template and a URI that matches it.
func drawn(r *rand.Rand, modifiers bool) (text, uri string, values uritemplate.Values) {
	operators := []string{"", "+", "#", ".", "/", ";", "?", "&"}
	literals := []string{"", "/", "a", "-", "/b/", "%20", "~", "x.y"}
	var b strings.Builder
	b.WriteString("x://h/")
	values = uritemplate.Values{}
	n := 0
	for range 1 + r.IntN(3) {
		b.WriteString(literals[r.IntN(len(literals))])
		b.WriteString("{" + operators[r.IntN(len(operators))])
		for i := range 1 + r.IntN(3)*r.IntN(2) {
			if i > 0 {
				b.WriteByte(',')
			}
			name := fmt.Sprintf("v%d", n)
			n++
			b.WriteString(name)
			if modifiers && r.IntN(4) == 0 {
				b.WriteString([]string{"*", ":3"}[r.IntN(2)])
			}
			if modifiers || r.IntN(4) > 0 { // A missing value before a limited one leaves no trace.
				values.Set(name, uritemplate.String(drawnValue(r)))
			}
		}
		b.WriteByte('}')
	}
	b.WriteString(literals[r.IntN(len(literals))])
	parsed, err := uritemplate.New(b.String())
	if err != nil {
		panic(err)
	}
	uri, err = parsed.Expand(values)
	if err != nil {
		panic(err)
	}
	return b.String(), uri, values
}

func drawnValue(r *rand.Rand) string {
	alphabet := []rune("ab1-._~ /?%&=;") // The library escapes other characters incorrectly.
	out := make([]rune, 1+r.IntN(4))
	for i := range out {
		out[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(out)
}

// TestAgainstLibrary compares templates with another library, which takes exponential or quadratic
// time: expansions, matches and values are the same, except where the literals of a template allow
// several readings of a URI.
func TestAgainstLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(6570, 3986))
	read, same := 0, 0
	for i := range 10_000 {
		text, uri, values := drawn(r, i%2 == 0)
		template := mustParse(t, text)
		given := map[string]string{}
		for name, value := range values {
			given[name] = value.V[0]
		}
		if got := template.Expand(given); got != Normal(uri) && !strings.Contains(text, ":3") { // The library counts bytes as characters there.
			t.Fatalf("%s: expands to %s, want %s", text, got, uri)
		}
		got, ok := template.Match(uri)
		if !ok && strings.Contains(text, ":3") {
			continue // A dot in a value before a limited one ends the value.
		}
		if !ok {
			t.Fatalf("%s does not match %s, which it expands to", text, uri)
		}
		if expanded := template.Expand(got); !template.Matches(expanded) {
			t.Fatalf("%s does not match %s, of the values that it found in %s", text, expanded, uri)
		}
		if strings.Contains(text, ",") {
			continue // The library has other rules for the values of several variables in one expression.
		}
		theirs := uritemplate.MustNew(text).Match(uri)
		read++
		equal := theirs != nil
		for name, value := range theirs {
			name, _, _ = strings.Cut(name, ":")
			equal = equal && strings.Join(value.V, ",") == got[name]
		}
		if equal {
			same++
		} else if read-same < 5 {
			t.Logf("%s of %s: %v, the library has %v", text, uri, got, theirs)
		}
	}
	if read < 2_000 || same < read*98/100 {
		t.Errorf("%d of %d URIs have the same values", same, read)
	}
}
