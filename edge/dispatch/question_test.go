package dispatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// What a caller writes stays within its quotes, clipped, and has no characters that cannot be seen.
func TestQuotedArguments(t *testing.T) {
	args := json.RawMessage(`{"a":"x\" is fine. Confirm\n\u202eme","b":{"c":[1, "\u0007\u2028"]},"long":"` + strings.Repeat("é", 300) + `","many":{"x":"` + strings.Repeat("a", 300) + `","y":[1,2,3]},"tag":{"x":"` + "\U000E0041\u200b" + `"}}`)
	for path, want := range map[string]string{
		"a":     `"x\" is fine. Confirm\n\u202eme"`,
		"b.c":   `[1,"\u0007\u2028"]`,
		"b.c.d": "(absent)",
		"none":  "(absent)",
		"long":  `"` + strings.Repeat("é", 100) + `"… (400 bytes not shown)`,
		"many":  `{"x":"` + strings.Repeat("a", 195) + `"…,…} (117 bytes not shown)`,
		"tag":   `{"x":"\U000e0041\u200b"}`,
	} {
		got := quotedAt(args, strings.Split(path, "."))
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for _, text := range []string{"\x1b[31mred", "\u2066isolate\u2069", "\xff\xfe", "plain"} {
		if got := printable(text); !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Characters that are blank, ignored, or drawn over others are escaped, and long spaces are counted. Words with the marks of their own
// script are not changed.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\u3164b": `a\u3164b`, "\u115f": `\u115f`, "\u1160": `\u1160`, "\uffa0": `\uffa0`, "\u2800": `\u2800`, "\U0001d159": `\U0001d159`,
		"\u034f": `\u034f`, "x\ufe0f": `x\ufe0f`, "\U000e0100": `\U000e0100`, "ក\u17b4": `ក\u17b4`, "\u180b": `\u180b`, "\u00a0": `\u00a0`,
		"\u3000": `\u3000`, "\u2003": `\u2003`, "\u200b\u2060": `\u200b\u2060`, "\u00ad": `\u00ad`,
		"5\u0338": `5\u0338`, "a\u0336b\u0336": `a\u0336b\u0336`, "a\u20dd": `a\u20dd`, "\u0488": `\u0488`, "\u0e31": `\u0e31`, "1\u0e31": `1\u0e31`,
		"ก" + strings.Repeat("\u0e49", 6): "ก" + strings.Repeat("\u0e49", 4) + `\u0e49\u0e49`,
		"नमस्ते":                          "नमस्ते", "ที่นี่": "ที่นี่", "שָׁלוֹם": "שָׁלוֹם", "é ü 漢字 ✓ 😀": "é ü 漢字 ✓ 😀",
		"a  b": "a  b", "a   b": "a[3 spaces]b", "a" + strings.Repeat(" ", 500): "a[500 spaces]",
		"two\nlines\t": `two\nlines\t`, "\x00\u0085": `\u0000\u0085`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What the edge added is not shown, and never what is pinned. What a hook has put in the place of a default is.
func TestAddedArgumentsAreNotShown(t *testing.T) {
	changes := pinnedTenant(t).Arguments
	added := json.RawMessage(`{"limit":20,"tenantId":"acme","verbose":false}`)
	was := json.RawMessage(`{"query":"x","limit":20,"tenantId":"acme","verbose":false}`)
	for args, want := range map[string]string{
		`{"query":"x","limit":20,"tenantId":"acme","verbose":false}`:   `{"query":"x"}`,
		`{"query":"x","limit": 20 ,"tenantId":"acme","verbose":false}`: `{"query":"x"}`,
		`{"query":"x","limit":99,"tenantId":"acme","verbose":false}`:   `{"query":"x","limit":99}`,
		`{"query":"x","limit":20,"tenantId":"ACME","verbose":"false"}`: `{"query":"x"}`, // in the form of an adapter
	} {
		now := json.RawMessage(args)
		if got := string(withoutAdded(now, stillAdded(added, changes, was, now))); got != want {
			t.Errorf("%s is shown as %s", args, got)
		}
	}
	if got := string(withoutAdded(json.RawMessage(`{"a":1}`), stillAdded(nil, changes, was, was))); got != `{"a":1}` {
		t.Errorf("what was sent alone is shown as %s", got)
	}
}

// All arguments are named, whatever is in them: long values are clipped, with the others in full, and what is not shown is counted.
func TestShownArguments(t *testing.T) {
	pad := func(n int) string { return strings.Repeat("a", n) }
	var many strings.Builder
	for i := range 150 {
		_, _ = fmt.Fprintf(&many, `"n%03d":"%s",`, i, pad(300))
	}
	for _, c := range []struct{ args, want string }{
		{`{ "a": 1, "b": [true, null, {"c": "x"}], "d": {} }`, `{"a":1,"b":[true,null,{"c":"x"}],"d":{}}`},
		{`{"\u0061":"\u0062 \/ \ud83d\ude00 \u3164"}`, `{"a":"b / 😀 \u3164"}`},
		{`{"pad":"` + pad(4000) + `","to":"attacker"}`, `{"pad":"` + pad(2038) + `"… (1962 bytes not shown),"to":"attacker"}`},
		{`{"pad":{"x":["` + pad(4000) + `",5],"y":7},"to":"attacker"}`, `{"pad":{"x":["` + pad(2032) + `"…,…],…} (1976 bytes not shown),"to":"attacker"}`},
		{`{"` + pad(100) + `":"` + pad(4000) + `","to":[]}`, `{"` + pad(64) + `"…:"` + pad(2046) + `"… (1954 bytes not shown),"to":[]}`},
		{`{"a":"` + strings.Repeat("\u3164", 1000) + `","b":"c"}`, `{"a":"` + strings.Repeat(`\u3164`, 340) + `"… (1980 bytes not shown),"b":"c"}`},
	} {
		if got := shownArguments(json.RawMessage(c.args)); got != c.want {
			t.Errorf("%.60s: %s\nwant %s", c.args, got, c.want)
		}
	}
	got := shownArguments(json.RawMessage(`{` + many.String() + `"to":"attacker"}`))
	for i := range 100 {
		if !strings.Contains(got, fmt.Sprintf(`"n%03d":"a`, i)) {
			t.Fatalf("the argument %d is not shown: %s", i, got)
		}
	}
	if !strings.HasSuffix(got, "… (51 arguments not shown)}") || len(got) > 8<<10 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
