package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/reflect"
)

// defaults are the defaults of settings whose zero value is replaced by the package that uses them, by the type and the field of edge/config.
// The comment of the field, which the chart's schema shows, names the default.
var defaults = map[string]int64{
	"Audit.Timeout":         int64(audit.DefaultTimeout),
	"Backend.MaxConcurrent": backend.DefaultMaxConcurrent,
	"Backend.MaxMessage":    backend.DefaultMaxMessageBytes,
	"Backend.OwnLists":      int64(backend.DefaultOwnLists),
	"Backend.Refresh":       int64(backend.DefaultRefresh),
	"Backend.StaleAfter":    int64(backend.DefaultStaleAfter),
	"Backend.Timeout":       int64(backend.DefaultTimeout),
	"External.MaxParams":    external.DefaultMaxParams,
	"External.Timeout":      int64(external.DefaultTimeout),
	"Hook.Concurrency":      hook.DefaultConcurrency,
	"Hook.Timeout":          int64(hook.DefaultTimeout),
	"Introspection.TTL":     int64(auth.DefaultCacheTTL),
	"Outliers.Failures":     backend.DefaultOutlierFailures,
	"PolicyApprove.Expires": int64(policy.DefaultExpires),
}

// zero matches what a comment says of a zero value, if that is a number with or without a unit.
var zero = regexp.MustCompile(`[;.] 0(?::| means) ([0-9,]+)( [A-Za-z]+)?\.?(?:\s|$)`)

var units = map[string]int64{
	"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ms": int64(time.Millisecond), "s": int64(time.Second), "min": int64(time.Minute), "h": int64(time.Hour),
}

// TestCommentsNameTheDefaults: each number that a comment of edge/config names as the default is that of the package that uses the setting.
func TestCommentsNameTheDefaults(t *testing.T) {
	found := map[string]int64{}
	for field, comment := range comments(t) {
		m := zero.FindStringSubmatch(comment)
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
		unit, known := units[strings.TrimSpace(m[2])]
		if err != nil || !known {
			t.Errorf("%s: %q is no number with a unit that is known here", field, m[0])
			continue
		}
		found[field] = n * unit
	}
	for field, value := range found {
		if want, known := defaults[field]; !known {
			t.Errorf("%s: the comment names a default: add the constant that has it to the test", field)
		} else if value != want {
			t.Errorf("%s: the comment names %d, the constant is %d", field, value, want)
		}
	}
	for field := range defaults {
		if _, ok := found[field]; !ok {
			t.Errorf("%s: the comment names no default", field)
		}
	}
}

// TestCommentsNameTheDefaultNames is TestCommentsNameTheDefaults for settings that are lists.
func TestCommentsNameTheDefaultNames(t *testing.T) {
	comments := comments(t)
	for field, names := range map[string][]string{
		"Issuer.Algorithms": auth.DefaultAlgorithms, "Claims.Subject": auth.DefaultSubject, "Claims.Scopes": auth.DefaultScopes, "Claims.Roles": auth.DefaultRoles,
	} {
		_, said, _ := strings.Cut(strings.ReplaceAll(comments[field], "Empty", "empty"), "empty means ")
		said, _, _ = strings.Cut(said+" ", ". ")
		words := strings.FieldsFunc(said, func(r rune) bool { return r == ' ' || r == ',' })
		words = slices.DeleteFunc(words, func(w string) bool {
			return slices.Contains([]string{"and", "or", "for", "tokens", "without", "a", "user"}, w)
		})
		if !slices.Equal(words, names) {
			t.Errorf("%s: the comment names %q, the constant is %q", field, words, names)
		}
	}
}

// comments returns the comments of the fields of the structs of edge/config, each as one line.
func comments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../edge/config/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	out := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						out[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return out
}

// TestSampleNamesTheDefaults: the sample of a backend in docs/configuration.md has the defaults.
func TestSampleNamesTheDefaults(t *testing.T) {
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, _ := strings.Cut(string(page), "\nbackends:\n")
	sample, _, _ = strings.Cut(sample, "\nkubernetes:")
	file := filepath.Join(t.TempDir(), "mcpedge.yaml")
	var lines []string
	keys := regexp.MustCompile(`(?m)^    (max-concurrent|max-message|own-lists|refresh|stale-after|timeout): \S+`).FindAllString(sample, -1)
	lines = append(lines, "backends:", "  - name: a", "    target: h:1")
	if err := os.WriteFile(file, []byte(strings.Join(append(lines, keys...), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := c.Backends[0]
	for field, got := range map[string]int64{
		"Backend.MaxConcurrent": int64(b.MaxConcurrent), "Backend.MaxMessage": int64(b.MaxMessage), "Backend.OwnLists": int64(b.OwnLists),
		"Backend.Refresh": int64(b.Refresh), "Backend.StaleAfter": int64(b.StaleAfter), "Backend.Timeout": int64(b.Timeout),
	} {
		if got != defaults[field] {
			t.Errorf("%s: the sample has %d, the default is %d", field, got, defaults[field])
		}
	}
}

// TestFormerSettingsNameTheConstants: the error about a key that is no setting any more names the constant that applies.
func TestFormerSettingsNameTheConstants(t *testing.T) {
	for _, key := range slices.Sorted(maps.Keys(constants)) {
		above, name, _ := strings.Cut(key, ".")
		text := above + ": {" + name + ": 1}\n"
		if above == "backends" {
			text = "backends: [{name: a, target: 'h:1', " + strings.Replace(name, ".", ": {", 1) + ": 1" + strings.Repeat("}", strings.Count(name, ".")+1) + "]\n"
		}
		file := filepath.Join(t.TempDir(), "mcpedge.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.ReadFile(file)
		if want := key + " is no longer a setting: it is always " + constants[key] + ";"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// constants are the values of the constants that replace former settings.
var constants = map[string]string{
	"audit.queue":                            config.Bytes(audit.DefaultQueue).String(),
	"backends.max-stream-messages":           strconv.Itoa(reflect.DefaultStreamMessages),
	"backends.outlier-detection.calls":       strconv.Itoa(backend.DefaultOutlierCalls),
	"backends.outlier-detection.ejection":    time.Duration(backend.DefaultOutlierEjection).String(),
	"backends.outlier-detection.interval":    time.Duration(backend.DefaultOutlierInterval).String(),
	"backends.outlier-detection.max-ejected": strconv.Itoa(backend.DefaultOutlierMaxEjected),
	"backends.resolve":                       time.Duration(backend.DefaultResolve).String(),
}
