package revision

import "github.com/mcpedge/mcpedge/edge/mcp"

// The published revisions. Each row lists the features of the revision.
var (
	r20241105 = &Rules{
		Version: "2024-11-05",
		codes:   codes(legacyCodes),
	}
	r20250326 = &Rules{
		Version: "2025-03-26", Batching: true,
		Audio: true, ToolAnnotations: true, ProgressMessage: true, CompletionsCapability: true,
		codes: codes(legacyCodes),
	}
	r20250618 = &Rules{
		Version: "2025-06-18",
		Audio:   true, ToolAnnotations: true, ProgressMessage: true, CompletionsCapability: true,
		ResourceLinks: true, Structured: true, Titles: true, CompletionContext: true, ElicitForm: true,
		Extensions: true,
		codes:      codes(legacyCodes),
	}
	r20251125 = &Rules{
		Version: "2025-11-25", Priming: true,
		Audio: true, ToolAnnotations: true, ProgressMessage: true, CompletionsCapability: true,
		ResourceLinks: true, Structured: true, Titles: true, CompletionContext: true, ElicitForm: true,
		Icons: true, ElicitMode: true, ElicitationID: true, SamplingTools: true,
		Extensions: true, Tasks: true,
		ArgumentErrorsAreResults: true,
		codes:                    codes(legacyCodes),
	}
	r20260728 = &Rules{
		Version: "2026-07-28", Stateless: true,
		Audio: true, ToolAnnotations: true, ProgressMessage: true, CompletionsCapability: true,
		ResourceLinks: true, Structured: true, StructuredAny: true, BooleanSchemas: true, Titles: true,
		CompletionContext: true, ElicitForm: true, Icons: true, ElicitMode: true, SamplingTools: true,
		Extensions: true, ResultType: true, CacheHints: true,
		ArgumentErrorsAreResults: true,
		codes:                    codes(legacyCodes, statelessCodes),
	}
)

const firstStateless = "2026-07-28"

var (
	all             = numbered(r20241105, r20250326, r20250618, r20251125, r20260728)
	assumed         = r20250326
	newestLegacy    = r20251125
	newestStateless = r20260728
	supported       = versions()
)

// legacyCodes are the codes every revision shares, where a later table does not replace them.
// Private kinds use codes outside the range that JSON-RPC and MCP reserve.
var legacyCodes = map[mcp.Kind]int{
	mcp.KindParse:              -32700,
	mcp.KindInvalidRequest:     -32600,
	mcp.KindMethodNotFound:     -32601,
	mcp.KindInvalidParams:      -32602,
	mcp.KindUnknownTool:        -32602,
	mcp.KindUnknownPrompt:      -32602,
	mcp.KindResourceNotFound:   -32002,
	mcp.KindBadCursor:          -32602,
	mcp.KindBadState:           -32602,
	mcp.KindHeaderMismatch:     -32600,
	mcp.KindMissingCapability:  -32603,
	mcp.KindUnsupportedVersion: -32602,
	mcp.KindSessionRequired:    -32600,
	mcp.KindSessionNotFound:    -32600,
	mcp.KindBadEventID:         -32600,
	mcp.KindNoStream:           -32600,
	mcp.KindForbidden:          -31403,
	mcp.KindUnauthenticated:    -31401,
	mcp.KindTooLarge:           -31413,
	mcp.KindLimit:              -31429,
	mcp.KindQuota:              -31429,
	mcp.KindStateUnavailable:   -31503,
	mcp.KindOverloaded:         -31503,
	mcp.KindUnavailable:        -31502,
	mcp.KindTimeout:            -31504,
	mcp.KindCancelled:          -31499,
	mcp.KindUnknownOutcome:     -31520,
	mcp.KindContract:           -32603,
	mcp.KindInternal:           -32603,
}

var statelessCodes = map[mcp.Kind]int{
	mcp.KindResourceNotFound:   -32602,
	mcp.KindHeaderMismatch:     -32020,
	mcp.KindMissingCapability:  -32021,
	mcp.KindUnsupportedVersion: -32022,
}

func codes(tables ...map[mcp.Kind]int) *[256]int {
	var out [256]int
	for _, t := range tables {
		for k, c := range t {
			out[k] = c
		}
	}
	return &out
}

func numbered(rules ...*Rules) []*Rules {
	for i, r := range rules {
		r.Index = i
	}
	return rules
}

func versions() []string {
	out := make([]string, 0, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		out = append(out, all[i].Version)
	}
	return out
}

// isDate reports whether v has the form YYYY-MM-DD.
func isDate(v string) bool {
	if len(v) != len("2006-01-02") {
		return false
	}
	for i := range len(v) {
		switch dash := i == 4 || i == 7; {
		case dash && v[i] != '-', !dash && (v[i] < '0' || v[i] > '9'):
			return false
		}
	}
	return true
}
