package portable_test

import (
	"regexp"
	"testing"

	"github.com/mcpedge/mcpedge/edge/schema/portable"
)

// A rewritten pattern matches the same texts.
func TestPatterns(t *testing.T) {
	texts := []string{"", "a", "A", "b", "ab", "aB", "a\nb", "a\rb", "a.b", "a-b", "^", "]", "\\", "ä", "\u017f", "S", "12", "a1_", "x y", "\t", "\v", "\u00a0", "aaa", "/", "😀"}
	for _, c := range []struct {
		expr string
		same bool // it is not rewritten
	}{
		{`^[a-z]{1,2}\d*$`, false}, {`a|b`, true}, {`\w+`, false},
		{`(?i)^a?s$`, false}, {`^a.b$`, false}, {`(?s)^a.b$`, false}, {`\s`, false}, {`[[:alpha:]]+`, false}, {`\pL`, false},
		{`[^\]\\^-]`, true}, {`\Qa.b\E`, false}, {`(?P<x>a)(b)?`, false}, {`\Aab\z`, false}, {`a{2,}?`, true}, {`(?:a|b){2}`, true},
		{`\ba\b`, true}, {`\x{1F600}`, false}, {`^(?:/|\\)$`, true}, {`[\x00-\x1f]`, true}, {`^$`, true}, {`()`, true}, {`[^a]`, true}, {`[\s\S]`, true},
	} {
		got, ok := portable.Pattern(c.expr)
		if !ok || (got == c.expr) != c.same {
			t.Errorf("%s became %s, %v", c.expr, got, ok)
			continue
		}
		before, after := regexp.MustCompile(c.expr), regexp.MustCompile(got)
		for _, text := range texts {
			if before.MatchString(text) != after.MatchString(text) {
				t.Errorf("%s became %s, which does not treat %q alike", c.expr, got, text)
			}
		}
	}
	for _, expr := range []string{`(?m)^a`, `(?m)a$`, `(`, `[^\x00-\x{10FFFF}]`} {
		if got, ok := portable.Pattern(expr); ok {
			t.Errorf("%s became %s", expr, got)
		}
	}
}
