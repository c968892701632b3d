package uris

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/internal/uris/uristest"
)

func TestCheck(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///a":                         "",
		"urn:isbn:1":                        "",
		"doc://notes/café menu.txt":         "",
		"x:":                                "",
		"a:" + strings.Repeat("a", 8<<10-2): "",
		"a:" + strings.Repeat("a", 8<<10-1): "8193 bytes",
		"":                                  "not absolute",
		"/a":                                "not absolute",
		"1x://a":                            "not absolute",
		"x y://a":                           "not absolute",
		"x://a\nb":                          "control character U+000A",
		"x://a\u0085b":                      "control character U+0085",
		"x://100%":                          "write %25",
		"x://%4g":                           "write %25",
		"x://\xff":                          "UTF-8",
	} {
		err := Check(uri)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", uri, err, want)
		}
	}
}

func TestNormal(t *testing.T) {
	for uri, want := range map[string]string{
		"docs://README":              "docs://README",
		"DOCS://README":              "docs://README",
		"HTTP://bob@Example.COM:80":  "http://bob@example.com:80",
		"HTTP://Bob@Example.COM/A?B": "http://Bob@example.com/A?B",
		"file://HOST/%61":            "file://host/a",
		"file://%48OST/A":            "file://host/A",
		"docs://HOST/A":              "docs://HOST/A",
		"x://a%2fb%2F":               "x://a%2Fb%2F",
		"x://%7Euser%2D":             "x://~user-",
		"x://a?name=%73ecret":        "x://a?name=secret",
		"x://a#%73ecret":             "x://a#secret",
		"doc://notes/café menu.txt":  "doc://notes/caf%C3%A9%20menu.txt",
		`x://a\b|"`:                  "x://a%5Cb%7C%22",
		"x://a/../b//c":              "x://a/../b//c",
		"x://100%":                   "x://100%",
		"x://%4":                     "x://%4",
		"x://%%41":                   "x://%A",
		"no scheme/%41 b":            "no%20scheme/A%20b",
		"":                           "",
	} {
		if got := Normal(uri); got != want {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
	}
	for _, uri := range []string{"file:///a/b.txt", "x://a%2Fb?c#d"} {
		if n := testing.AllocsPerRun(100, func() { Normal(uri) }); n != 0 {
			t.Errorf("%s: %v allocations", uri, n)
		}
	}
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"a":               "a",
		"%2fa%2":          "/a%2",
		"%2573":           "%73",
		"caf%C3%A9":       "café",
		"%C3":             "\uFFFD",
		"%F0%9F%92x":      "\uFFFDx",
		"%E2%82%C3%A9":    "\uFFFDé",
		"%C0%AF":          "\uFFFD\uFFFD",
		"%ED%A0%80":       "\uFFFD\uFFFD\uFFFD",
		"%F0%9F%92%A9%A9": "💩\uFFFD",
	} {
		if got := Decode(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestForms(t *testing.T) {
	for uri, want := range map[string][]string{
		"docs://README":                  nil,
		"docs://a/b.txt?at=../x":         {"docs://a/b.txt"},
		"file:///":                       nil,
		"x:/":                            nil,
		"urn:isbn:1":                     nil,
		"docs://bob@admin.x/y":           nil,
		"docs://a%20b":                   {"docs://a b"},
		"docs://a b":                     {"docs://a%20b"},
		"docs://a%2fb":                   {"docs://a%2Fb", "docs://a/b"},
		"q://x?name=%73ecret":            {"q://x?name=secret"},
		"f://x#%73ecret":                 {"f://x#secret"},
		"no scheme/../x":                 {"no%20scheme/../x"},
		"FILE:///secret":                 {"file:///secret"},
		"file://HOST/%61":                {"file://host/a"},
		"file:///%73ecret/x":             {"file:///secret/x"},
		"file:///public/../secret/x":     {"file:///public/../secret/x", "file:///secret/x"},
		"file:///public/%2e%2E/secret/x": {"file:///secret/x"},
		"file:///public/..%2fsecret/x":   {"file:///secret/x"},
		"file:///a%2F.%2Fsecret":         {"file:///a/secret"},
		`file:///public/..\secret/x`:     {"file:///secret/x"},
		`file:///secret\x`:               {"file:///secret/x"},
		"file:////secret//x":             {"file:///secret/x"},
		"file:///public//../secret":      {"file:///secret", "file:///public/secret"},
		"file:///./secret/.":             {"file:///secret/"},
		"file:///../../secret?a":         {"file:///secret?a"},
		"docs://guide/../admin":          {"docs://admin", "docs://guide/admin"},
		"docs:guide/../admin":            {"docs:admin"},
		"docs://./admin":                 {"docs://admin"},
		"docs://%2e/admin":               {"docs://admin", "docs://./admin"},
		"docs://guide?/../admin":         {"docs://admin"},
		"docs://guide?a/../admin/b":      {"docs://admin/b"},
		"docs://guide#/..%2fadmin":       {"docs://admin"},
		"docs:guide?/../admin":           {"docs:admin"},
		"docs://@admin/x":                {"docs://admin/x"},
		"docs://:@admin/x":               {"docs://admin/x"},
		"docs://admin:/x":                {"docs://admin/x"},
		"file:///secret#":                {"file:///secret"},
		"file:///secret?":                {"file:///secret"},
		"file:///secret?x#y":             {"file:///secret?x", "file:///secret"},
		"file:///secret/":                {"file:///secret"},
		"file:///secret//?x":             {"file:///secret?x", "file:///secret"},
		"file:///secret/?x#y":            {"file:///secret?x#y", "file:///secret?x", "file:///secret/", "file:///secret"},
		"docs://admin/":                  {"docs://admin"},
		"urn:a:b/":                       {"urn:a:b"},
		"file:///secret%23":              {"file:///secret"},
		"file:///secret%3Fx":             {"file:///secret"},
		"file:///secret%2F":              {"file:///secret"},
		"file:///secret/%2E":             {"file:///secret"},
		`file:///secret\#a`:              {"file:///secret"},
		"file:///caf%C3%A9#":             {"file:///caf%C3%A9", "file:///café"},
		"docs://a/../b/7%3Fx/../y":       {"docs://b/7", "docs://a/b/7"},
		"docs://guide?/../admin#x":       {"docs://admin"},
		"docs://guide?/../admin?x":       {"docs://admin"},
	} {
		got := Forms(uri)
		if len(want) == 0 && len(got) > 0 {
			t.Errorf("%s: %q, want none", uri, got)
		}
		for _, form := range want {
			if form != uri && !slices.Contains(got, form) {
				t.Errorf("%s: %q, want %q among them", uri, got, form)
			}
		}
		if len(got) > MaxForms || slices.Contains(got, uri) {
			t.Errorf("%s: %d forms, %q", uri, len(got), got)
		}
	}
}

// The forms of a URI are its equivalents, and these without the parts that backends may drop.
func TestEquivalents(t *testing.T) {
	for uri, want := range map[string][]string{
		"docs://a":         nil,
		"docs://a/?x#y":    nil,
		"docs://a%2Fb/?x#": {"docs://a/b/?x#"},
		"docs://a/./b/?x":  {"docs://a/b/?x"},
	} {
		got, all := Equivalents(uri), Forms(uri)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", uri, got, want)
		}
		if len(all) < len(got) || !slices.Equal(all[:len(got)], got) {
			t.Errorf("%s: its forms are %q, its equivalents %q", uri, all, got)
		}
	}
}

// All spellings of a URI have the same normal form and the same set of other forms.
func TestSpellings(t *testing.T) {
	r := rand.New(rand.NewPCG(3986, 1))
	for _, uri := range []string{"file:///docs/a-b/c.txt", "doc://notes/café menu.txt", "q://x?name=a~b&c=é", "f://x/../y#z", "urn:a:b"} {
		normal := Normal(uri)
		all := append(Forms(uri), uri)
		for range 200 {
			other := uristest.Respell(r, uri)
			if got := Normal(other); got != normal {
				t.Fatalf("%s: normal form %s, that of %s is %s", other, got, uri, normal)
			}
			for _, form := range Forms(other) {
				if form != other && !slices.Contains(all, form) {
					t.Fatalf("%s: form %s is none of %s: %q", other, form, uri, all)
				}
			}
		}
	}
}

func FuzzURI(f *testing.F) {
	for _, uri := range []string{"HTTP://u@H:1/%7e/%2f?a=%zz#é", "file:///a/..%2fb\\c", "a:%", "://", "x://\xff%ff", "docs://@a:/./..//b?/../c", `d://@a%3f:/%23/..\é/..//%2e/b%2F/?x/../é/?/../y#z/../w/`} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		normal := Normal(uri)
		if again := Normal(normal); again != normal && !strings.Contains(normal, "%%") && Check(uri) == nil {
			t.Errorf("the normal form of %q is %q, and %q of that", uri, normal, again)
		}
		if len(normal) > 3*len(uri) {
			t.Errorf("the normal form of %d bytes has %d", len(uri), len(normal))
		}
		forms := Forms(uri)
		if len(forms) > MaxForms {
			t.Errorf("%q has %d forms", uri, len(forms))
		}
		bytes := 0
		for _, form := range forms {
			bytes += len(form)
		}
		if bytes > MaxForms*(3*len(uri)+4) {
			t.Errorf("the forms of %d bytes have %d", len(uri), bytes)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, text := range append(hostile(), "file:///café/{name}", "x://{a:3}{/b*}{?c,d*}{#e}", "{+any}", "x://{a}{.b,c}{;d}{&e}") {
		f.Add(text, "x://a/b?c=1&d=%20#,")
	}
	f.Fuzz(func(t *testing.T, text, uri string) {
		template, err := Parse(text)
		if err != nil {
			return
		}
		values := map[string]string{}
		ok, steps := template.match(uri, values)
		if most := 24*len(template.parts)*(len(uri)+2) + 4*len(text); steps > most {
			t.Errorf("%d steps, want %d at most", steps, most)
		}
		if matches := template.Matches(uri); matches != ok {
			t.Errorf("Match %v, Matches %v", ok, matches)
		}
		if ok && Check(uri) == nil && len(uri) < MaxBytes/4 && !template.Matches(Normal(uri)) {
			t.Errorf("%q matches %q, and its normal form does not", text, uri)
		}
		if again, err := Parse(template.Normal()); err == nil && ok && !again.Matches(uri) && Check(uri) == nil && Normal(uri) == uri {
			t.Errorf("%q matches %q, and the normal form of the template does not", text, uri)
		}
	})
}
