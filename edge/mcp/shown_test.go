package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func TestShown(t *testing.T) {
	for _, c := range []struct {
		name string
		most int
		want string
	}{
		{"", 8, ""}, {"claude-code", 64, "claude-code"}, {"Größe", 64, "Größe"}, {"Größe", 3, "Gr"}, {"Größe", 4, "Grö"},
		{"a\x1b[31m\nb", 64, "a\uFFFD[31m\uFFFDb"}, {"a\u202eb", 64, "a\uFFFDb"}, {"a\u009bb\x7f", 64, "a\uFFFDb\uFFFD"},
		{"a\xff\xc3", 64, "a\uFFFD\uFFFD"}, {"\x01\x02\x03\x04", 4, "\uFFFD"}, {"\u2028", 64, "\uFFFD"},
	} {
		if got := mcp.Shown(c.name, c.most); got != c.want {
			t.Errorf("%q as %q, want %q", c.name, got, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { mcp.Shown("claude-code", 64) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEscapeControls(t *testing.T) {
	plain := []byte(`{"a":"Größe"}` + "\n")
	if got := mcp.EscapeControls(plain); &got[0] != &plain[0] {
		t.Error("a copy of what has nothing to escape")
	}
	var all strings.Builder
	for r := range rune(0x3000) {
		all.WriteRune(r)
	}
	raw, err := json.Marshal(map[string]string{"name": all.String()})
	if err != nil {
		t.Fatal(err)
	}
	got := mcp.EscapeControls(raw)
	if i := strings.IndexFunc(string(got), func(r rune) bool { return mcp.IsControl(r) || unicode.IsControl(r) }); i >= 0 {
		t.Errorf("%q is left", got[i:i+4])
	}
	var back struct{ Name string }
	if err := json.Unmarshal(got, &back); err != nil || back.Name != all.String() {
		t.Errorf("it says something else: %v", err)
	}
}

// TestIsControl: every control, separator of lines or paragraphs and character of writing direction is found, and no other one.
func TestIsControl(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if want := unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control); mcp.IsControl(r) != want {
			t.Errorf("IsControl(%U) = %v", r, !want)
		}
	}
}
