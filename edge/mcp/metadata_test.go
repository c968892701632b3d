package mcp

import (
	"strings"
	"testing"
)

// A value of metadata is short, of printable ASCII, without spaces around it.
func TestNotMetadataValue(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "Bearer a~b": "", " a": "spaces", "a\n": "ASCII", "ü": "ASCII", strings.Repeat("x", 4096): "", strings.Repeat("x", 4097): "4 KiB",
	} {
		if got := NotMetadataValue(text); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.20q %q, want %q", text, got, want)
		}
	}
}
