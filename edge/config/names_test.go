package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// A text with a colon is a text, wherever it stands.
func TestNames(t *testing.T) {
	for text, want := range map[string][]string{
		"a: [mcp:read, b, 'c:d']": {"mcp:read", "b", "c:d"},
		"{a: [mcp:read, mcp:write:all, https://example.com:8443/mcp, port:80]}": {"mcp:read", "mcp:write:all", "https://example.com:8443/mcp", "port:80"},
		"{a: [10.1.2.3, fd00::/8, fe80::1, 2001:db8::/32]}":                     {"10.1.2.3", "fd00::/8", "fe80::1", "2001:db8::/32"},
		"a:\n- mcp:read\n- 7": {"mcp:read", "7"},
		"a: []":               {},
		"{a: [[b]]}":          nil,
		"{a: [{b: c, d: e}]}": nil,
		"{a: b}":              nil,
	} {
		var got struct {
			A Names `yaml:"a"`
		}
		if err := yaml.Unmarshal([]byte(text), &got); (err != nil) != (want == nil) || !slices.Equal(got.A, want) {
			t.Errorf("%s gives %q, %v; want %q", text, got.A, err, want)
		}
	}
}

// Every list of texts in the file takes texts with colons: it is of the type Names.
func TestListsOfTextsAreNames(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(of reflect.Type, path string)
	walk = func(of reflect.Type, path string) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Map:
			walk(of.Elem(), path)
		case reflect.Slice:
			if of == reflect.TypeFor[[]string]() {
				t.Errorf("%s is a []string", path)
			}
			walk(of.Elem(), path+"[]")
		case reflect.Struct:
			if seen[of] {
				return
			}
			seen[of] = true
			for f := range of.Fields() {
				if key := f.Tag.Get("yaml"); key != "" && key != "-" {
					walk(f.Type, strings.TrimPrefix(path+"."+key, "."))
				}
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	if len(seen) < 30 {
		t.Errorf("only %d sections were found", len(seen))
	}
}
