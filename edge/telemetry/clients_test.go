package telemetry

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Anonymous callers, and a caller alone, take a share of the names in metrics; those of others keep theirs.
func TestNamesOfClientsAreShared(t *testing.T) {
	all := clients{authenticated: true}
	one := &mcp.Principal{Issuer: "https://a.example", Subject: "one"}
	for i := range 2 * maxClients {
		all.named(fmt.Sprint("anonymous", i), &mcp.Principal{})
		all.named(fmt.Sprint("one", i), one)
	}
	if n := len(*all.known.Load()); n != maxAnonymous+maxOfOne {
		t.Errorf("%d names, want %d", n, maxAnonymous+maxOfOne)
	}
	for i := range 2 * maxClients {
		all.named("other", &mcp.Principal{Issuer: "https://a.example", Subject: fmt.Sprint(i)})
		c := all.named(fmt.Sprint("honest", i%10), &mcp.Principal{Issuer: "https://a.example", Subject: fmt.Sprint(i)})
		if c == &all.rest {
			t.Fatalf("no name for caller %d", i)
		}
	}
	open := clients{}
	for i := range 2 * maxClients {
		open.named(fmt.Sprint(i), &mcp.Principal{})
	}
	if n := len(*open.known.Load()); n != maxClients {
		t.Errorf("%d names of callers without credentials, want %d", n, maxClients)
	}
}

// A client's name has no control characters, wherever it goes.
func TestNamesOfClientsAreClean(t *testing.T) {
	tel, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ö", 100)
	for raw, want := range map[string]string{
		`"evil\n\u001b[31m\u202e\u009b"`: "evil\uFFFD\uFFFD[31m\uFFFD\uFFFD",
		"\"a\xffb\"":                     "", // no JSON
		`"` + long + `"`:                 long[:maxClientName],
		`"a\ud800b"`:                     "a\uFFFDb",
	} {
		if got := tel.ClientName([]byte(`{"name":` + raw + `}`)); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}

// No line of the log has a control character, as JSON and as text, whatever a value is.
func TestLinesHaveNoControls(t *testing.T) {
	for _, json := range []bool{false, true} {
		var out bytes.Buffer
		h := NewHandler(&out, json, slog.LevelInfo, "")
		slog.New(h).With("fixed", "\u202e\u009b").Info("m\x7f\u2066", "target", "\x1b[31m\u202e\u009b2J\u2028\xff", "error", fmt.Errorf("no %s", "\u200f"))
		h.Flush()
		line := strings.TrimSuffix(out.String(), "\n")
		if i := strings.IndexFunc(line, mcp.IsControl); i >= 0 {
			t.Errorf("%q has %q", line, line[i:i+3])
		}
	}
}
