package redact_test

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/redact"
)

// Secrets with JSON's escapes are found in a text that is not JSON, such as a log line.
func TestEscapesInTexts(t *testing.T) {
	v := results(t, named("card", "iban", "keys")...)
	for text, want := range map[string]string{
		`log: {"a":"x\n4111111111111111"}`:                  `log: {"a":"x\n<card>"}`,
		`log: {"a":"\tDE89370400440532013000"}`:             `log: {"a":"\t<iban>"}`,
		`log: {"a":"x\r` + aws + `\n` + github + `"}`:       `log: {"a":"x\r<keys>\n<keys>"}`,
		`log: {"t":"{\"a\":\"\\n4111111111111111\"}"}`:      `log: {"t":"{\"a\":\"\\n<card>\"}"}`,
		`{"a":"of {\"t\":\"\\n4111111111111111\"}"}`:        `{"a":"of {\"t\":\"\\n<card>\"}"}`,
		`log: {"t":"\\u00341111111\u00311111111"}`:          `log: {"t":"<card>"}`,
		`log: {"t":"\\\\ud83d\\\\ude00\\n4111111111111111"`: `log: {"t":"\\\\ud83d\\\\ude00\\n<card>"`,
		`C:\new\table and \ 4111111111111111\`:              `C:\new\table and \ <card>\`,
		`[1,"x`:                                             `[1,"x`,
	} {
		if got := v.Text(text); got != want {
			t.Errorf("%s\n became %s,\n want   %s", text, got, want)
		}
	}
}

// A secret is found whatever text is next to it.
func TestNeighbours(t *testing.T) {
	v := results(t, named("card", "email", "keys")...)
	for text, want := range map[string]string{
		"4111111111111111.0, 4111111111111111.00": "<card>.0, <card>.00",
		"4111111111111111.05 4111111111111111.0a": "4111111111111111.05 4111111111111111.0a",
		"bob@b.de.2":                      "<email>.2",
		"bob@mail.example.com-2.csv":      "<email>",
		"bob@mail.example.com-2":          "<email>-2",
		"bob@b.de..":                      "<email>..",
		"pkg@1.2.3, pkg@next-1.0, a@b.c1": "pkg@1.2.3, pkg@next-1.0, a@b.c1",
		"x-" + github + " key_" + aws:     "x-<keys> key_<keys>",
		"token_" + jwt:                    "token_<keys>",
	} {
		if got := v.Text(text); got != want {
			t.Errorf("%s\n became %s,\n want   %s", text, got, want)
		}
	}
	for number, want := range map[string]string{
		"0.4111111111111111e16": `"<card>"`, "0.004111111111111111E+18": `"<card>"`, "-4111111111111111": `"<card>"`,
		"4111111111111111" + strings.Repeat("0", 70) + "e-70":  `"<card>"`,
		"0." + strings.Repeat("0", 70) + "4111111111111111e86": `"<card>"`,
		"4111111111111111e1": "4111111111111111e1", "1e2147483648": "1e2147483648", "0e5000": "0e5000", "1e-9": "1e-9",
	} {
		if got := v.Result(number); got != want {
			t.Errorf("%s became %s, want %s", number, got, want)
		}
	}
}

// The cost of an expression that reads to the end of the text for each match is bounded.
func TestExpressionsThatReadFar(t *testing.T) {
	for _, pattern := range []string{`x(.*y)?`, `z|x[^y]{0,100}\by`} {
		v := results(t, redact.Rule{Name: "far", Pattern: pattern, Replace: "-"})
		if got := v.Text(strings.Repeat("xz", 1<<18)); got != "[REDACTED]" {
			t.Errorf("%s: a text beyond the bounds became %.40q", pattern, got)
		}
		if got := v.Text("zzzzzz"); got != "------" && pattern != `x(.*y)?` {
			t.Errorf("%s: got %q", pattern, got)
		}
	}
	v := results(t, redact.Rule{Name: "n", Pattern: `\b[a-z]+[0-9]|^[0-9]|é+\b`, Replace: "-"})
	if got, want := v.Text("1 a1 b2 ab3 1 cd4 x5y e6 é é é\xff f7\n8 1a"), "- - - - 1 - -y - é é é\xff -\n8 1a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	text := strings.Repeat("the user abc1 ", 1<<17)
	if got := v.Text(text); got != strings.Repeat("the user - ", 1<<17) {
		t.Errorf("many matches became %.40q", got)
	}
}

// A rule in audit mode changes nothing, even if it exceeds its bound.
func TestDryBeyondTheBounds(t *testing.T) {
	counts := new(redact.Counts)
	m := compiled(t, redact.Rule{Name: "mail", Pattern: "email"}, redact.Rule{Name: "slow", Pattern: `(x{1,8}y){1,10}z`, Dry: true},
		redact.Rule{Name: "far", Pattern: `h.*y|r`, Dry: true}, redact.Rule{Name: "path", Path: "result.*", Dry: true})
	m.CountIn(counts)
	v := m.View(redact.Results, redact.About{})
	text := strings.Repeat("harmless", 1<<18)
	if v.Text(text) != text || v.Result(`{"a":"`+text+`"}`) != `{"a":"`+text+`"}` {
		t.Error("a rule that replaces nothing replaced a text beyond the bounds")
	}
	if got := v.Text(text + " a@b.de"); got != text+" [REDACTED:mail]" {
		t.Errorf("a text beyond the bounds of a rule that replaces nothing became %.40q", got)
	}
	counts.Exceeded(func(place redact.Place, n int64) {
		if n != 0 {
			t.Errorf("%d texts of %s exceeded the bounds", n, place)
		}
	})
}
