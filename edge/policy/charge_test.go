package policy

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// The regular expressions of owners are constant and small, whatever the estimate of CEL says.
func TestRegularExpressionsOfOwners(t *testing.T) {
	const large = `(?:a?a?a?a?a?a?a?a?a?a?){1000}b`
	for _, pattern := range []string{"", "a{0}", "x{3}y*", "(?i)ab|[c-f]+?", "^(?:a?){300}b$", "(a{2,5}){7}"} {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := instructions(pattern); err != nil || int(n) < minInstructions(parsed) {
			t.Errorf("%q has %d instructions, and at least %d: %v", pattern, n, minInstructions(parsed), err)
		}
	}
	for text, want := range map[string]string{
		`"` + strings.Repeat("a", 2000) + `".matches("` + large + `") && tool.name == ""`:                  "more than 1000 instructions",
		`'a'.matches('` + strings.Repeat(".{1000}", 30) + `')`:                                             "more than 1000 instructions",
		`'a'.matches('` + strings.Repeat(".", 257) + `')`:                                                  "has 257 bytes, and at most 256 are allowed",
		`"a".matches(principal.subject)`:                                                                   "write the regular expression as a constant text",
		`matches("a", "a" + principal.subject)`:                                                            "write the regular expression as a constant text",
		`"a".matches("(")`:                                                                                 "matches: error parsing regexp",
		`tool.name == "` + strings.Repeat("x", MaxText) + `"`:                                              "bytes, and at most 4096 are allowed",
		`"a".matches(".{900}") || "a".matches("b{900}") || "a".matches("c{900}") || "a".matches("d{900}")`: "its estimated cost is",
	} {
		r := Restriction{Owner: "team", Backends: []string{"crm"}, Rules: []Rule{{Name: "x", When: text, Then: Deny}}}
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a rule %.80s: %v, want %s", text, err, want)
		}
		if strings.Contains(text, "tool.name") {
			continue
		}
		if _, err := CompileOwnedCondition(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a condition %.80s: %v, want %s", text, err, want)
		}
		if _, err := CompileOwnedValue(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a value %.80s: %v, want %s", text, err, want)
		}
	}
	if _, err := CompileCallerCondition(`"a".matches(principal.subject)`); err != nil {
		t.Errorf("the platform's: %v", err)
	}
}

// Conditions of owners cost what they evaluate, so that those which the file may have do not refuse usual calls.
func TestManyCheapConditions(t *testing.T) {
	var rules []string
	for range 100 {
		rules = append(rules, `arguments.path.contains(principal.subject)`)
	}
	p := owned(t, rules...)
	tool := &Target{Kind: Tool, Method: mcp.MethodToolsCall, Name: "crm_find", Backend: "crm"}
	for text, want := range map[string]Effect{"a/file": Allow, "home/alice": Deny, strings.Repeat("x", 10_000): Allow} {
		d, err := p.Decide(scoped(1), tool, given(map[string]any{"path": text}))
		if err != nil || d.Effect != want || d.Err != nil {
			t.Errorf("%.20s: %+v, %v, want %s", text, d, err, want)
		}
	}
}

// A time zone is read from a file.
func TestTimeZonesAreCounted(t *testing.T) {
	const zones = `principal.scopes.exists(s, timestamp(0).getHours(s) == 25)`
	if cost, err := EstimatedCost(zones); err != nil || cost < MaxRuleCost {
		t.Errorf("the estimate: %d, %v", cost, err)
	}
	if got := (actualCost{}).CallCost("getHours", "", nil, nil); *got != 1 {
		t.Errorf("in UTC: %d", *got)
	}
}
