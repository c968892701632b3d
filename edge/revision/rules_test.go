package revision

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// TestFlags states, for every flag, in which revisions it holds: a row is oldest to newest.
func TestFlags(t *testing.T) {
	rows := map[string]string{
		"Stateless":                "- - - - x",
		"Batching":                 "- x - - -",
		"Priming":                  "- - - x -",
		"Audio":                    "- x x x x",
		"ResourceLinks":            "- - x x x",
		"Structured":               "- - x x x",
		"StructuredAny":            "- - - - x",
		"BooleanSchemas":           "- - - - x",
		"Titles":                   "- - x x x",
		"Icons":                    "- - - x x",
		"ToolAnnotations":          "- x x x x",
		"ProgressMessage":          "- x x x x",
		"CompletionsCapability":    "- x x x x",
		"CompletionContext":        "- - x x x",
		"ElicitForm":               "- - x x x",
		"ElicitMode":               "- - - x x",
		"ElicitationID":            "- - - x -",
		"SamplingTools":            "- - - x x",
		"Extensions":               "- - x x x",
		"Tasks":                    "- - - x -",
		"ResultType":               "- - - - x",
		"CacheHints":               "- - - - x",
		"ArgumentErrorsAreResults": "- - - x x",
	}
	kind := reflect.TypeFor[Rules]()
	for i := range kind.NumField() {
		f := kind.Field(i)
		if f.Type.Kind() != reflect.Bool {
			continue
		}
		row, ok := rows[f.Name]
		if !ok {
			t.Errorf("%s has no row", f.Name)
			continue
		}
		delete(rows, f.Name)
		for n, mark := range strings.Fields(row) {
			if got := reflect.ValueOf(all[n]).Elem().Field(i).Bool(); got != (mark == "x") {
				t.Errorf("%s of %s is %t", f.Name, all[n].Version, got)
			}
		}
	}
	for name := range rows {
		t.Errorf("the row %s has no flag", name)
	}
}

func TestCodes(t *testing.T) {
	for _, r := range All() {
		for k := mcp.KindNone + 1; k <= mcp.KindInternal; k++ {
			code := r.Code(k)
			switch {
			case code == 0:
				t.Errorf("%s: kind %d has no code", r.Version, k)
			case code >= -32768 && code <= -32000 && !slices.Contains(allowed(r), code):
				t.Errorf("%s: kind %d has the reserved code %d", r.Version, k, code)
			}
		}
	}
	tests := []struct {
		kind           mcp.Kind
		legacy, modern int
	}{
		{mcp.KindParse, -32700, -32700},
		{mcp.KindInvalidRequest, -32600, -32600},
		{mcp.KindMethodNotFound, -32601, -32601},
		{mcp.KindUnknownTool, -32602, -32602},
		{mcp.KindUnknownPrompt, -32602, -32602},
		{mcp.KindBadCursor, -32602, -32602},
		{mcp.KindBadState, -32602, -32602},
		{mcp.KindResourceNotFound, -32002, -32602},
		{mcp.KindHeaderMismatch, -32600, -32020},
		{mcp.KindMissingCapability, -32603, -32021},
		{mcp.KindUnsupportedVersion, -32602, -32022},
		{mcp.KindContract, -32603, -32603},
		{mcp.KindInternal, -32603, -32603},
	}
	for _, tt := range tests {
		for _, r := range All() {
			want := tt.legacy
			if r.Stateless {
				want = tt.modern
			}
			if got := r.Code(tt.kind); got != want {
				t.Errorf("%s: kind %d has code %d, want %d", r.Version, tt.kind, got, want)
			}
		}
	}
}

// allowed are the codes in the range that JSON-RPC and MCP reserve which a revision gives a meaning. A
// client takes the stateless ones as the sign of a stateless server.
func allowed(r *Rules) []int {
	codes := []int{-32700, -32600, -32601, -32602, -32603}
	if r.Stateless {
		return append(codes, -32020, -32021, -32022)
	}
	return append(codes, -32002)
}

func TestVersions(t *testing.T) {
	var versions []string
	for i, r := range All() {
		if r.Index != i {
			t.Errorf("%s has index %d, want %d", r.Version, r.Index, i)
		}
		if got, ok := ByVersion(r.Version); !ok || got != r {
			t.Errorf("ByVersion(%s) = %v, %t", r.Version, got, ok)
		}
		versions = append(versions, r.Version)
	}
	if !slices.IsSorted(versions) {
		t.Errorf("%v is not from the oldest on", versions)
	}
	slices.Reverse(versions)
	if !slices.Equal(Supported(), versions) {
		t.Errorf("Supported() = %v, want %v", Supported(), versions)
	}
	if r, ok := ByVersion("2025-01-01"); ok {
		t.Errorf("2025-01-01 is served as %s", r.Version)
	}
	if !Stateless().Stateless || Assumed().Version != "2025-03-26" {
		t.Errorf("Stateless() = %s, Assumed() = %s", Stateless().Version, Assumed().Version)
	}
}

func TestSince(t *testing.T) {
	for want, has := range map[string]func(*Rules) bool{
		"2024-11-05": func(*Rules) bool { return true },
		"2025-06-18": func(r *Rules) bool { return r.ElicitForm },
		"2025-11-25": func(r *Rules) bool { return r.ElicitMode },
		"":           func(*Rules) bool { return false },
	} {
		if got := Since(has); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNegotiate(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "1.0": "2025-11-25", "": "2025-11-25",
	} {
		if got := Negotiate(asked).Version; got != want {
			t.Errorf("Negotiate(%q) = %s, want %s", asked, got, want)
		}
	}
}

func TestModern(t *testing.T) {
	for version, want := range map[string]bool{
		"2026-07-28": true, "2026-07-29": true, "2027-01-01": true, "9999-99-99": true,
		"2026-07-27": false, "2025-11-25": false, "2024-11-05": false,
		"": false, "latest": false, "2026-7-28": false, "2026-07-28x": false, "2026/07/28": false, "202x-07-28": false,
	} {
		if got := Modern(version); got != want {
			t.Errorf("Modern(%q) = %t, want %t", version, got, want)
		}
	}
}
