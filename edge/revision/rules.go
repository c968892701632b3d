package revision

import "github.com/mcpedge/mcpedge/edge/mcp"

// Rules describes the features of one revision. Values are shared and read-only. The zero value has
// no optional feature.
type Rules struct {
	// Version is the revision's date on the wire.
	Version string
	// Index is the revision's place in All, from the oldest: a small key for caches.
	Index int
	// Stateless: no handshake, no sessions, no requests to the client; version, client and
	// capabilities come with every request.
	Stateless bool

	// The wire.

	// Batching: arrays of messages are received.
	Batching bool
	// Priming: streams begin with an event id without data, may be closed by the server before the
	// response, with a retry hint.
	Priming bool

	// Features of messages.

	// Audio content blocks.
	Audio bool
	// ResourceLinks: resource_link content blocks.
	ResourceLinks bool
	// Structured: structuredContent and outputSchema whose root is an object.
	Structured bool
	// StructuredAny: structuredContent of any JSON type, and any output schema.
	StructuredAny bool
	// BooleanSchemas: true and false may stand for a schema among a tool schema's properties.
	BooleanSchemas bool
	// Titles: title on objects beside annotations, _meta on objects, lastModified.
	Titles bool
	// Icons: icons everywhere; description and websiteUrl of an implementation; $schema at the root
	// of tool schemas and forms.
	Icons bool
	// ToolAnnotations on tools.
	ToolAnnotations bool
	// ProgressMessage: message in progress notifications.
	ProgressMessage bool
	// CompletionsCapability: completions among the server's capabilities.
	CompletionsCapability bool
	// CompletionContext: context.arguments in completion/complete.
	CompletionContext bool
	// ElicitForm: elicitation/create at all.
	ElicitForm bool
	// ElicitMode: mode, URL elicitation, oneOf enums, multi-select and defaults of every type.
	ElicitMode bool
	// ElicitationID: URL elicitations carry an id, and their completion is notified.
	ElicitationID bool
	// SamplingTools: tools, tool blocks, arrays of content and _meta of messages in sampling.
	SamplingTools bool
	// Extensions: an extensions map among the capabilities.
	Extensions bool
	// Tasks of the core: `task` in tools/call, tasks/result, and `execution` of a tool. Stateless
	// revisions have the extension.
	Tasks bool

	// Features of every result.

	// ResultType: resultType, and serverInfo in the result's _meta.
	ResultType bool
	// CacheHints: ttlMs and cacheScope on lists, reads and discovery.
	CacheHints bool

	// The form of errors.

	// ArgumentErrorsAreResults: arguments that fail the tool's schema give a result with isError.
	ArgumentErrorsAreResults bool

	codes *[256]int
}

// Code returns the JSON-RPC code of a kind under this revision. Every kind but KindNone has one.
func (r *Rules) Code(k mcp.Kind) int { return r.codes[k] }

// All returns the rules of every published revision, oldest first.
func All() []*Rules { return all }

// ByVersion returns the rules of a version; false when it is not served.
func ByVersion(version string) (*Rules, bool) {
	for _, r := range all {
		if r.Version == version {
			return r, true
		}
	}
	return nil, false
}

// Negotiate chooses the rules of a session whose client asked for a version at initialize: that one
// when it is a legacy revision served here, else the newest legacy one.
func Negotiate(version string) *Rules {
	if r, ok := ByVersion(version); ok && !r.Stateless {
		return r
	}
	return newestLegacy
}

// Assumed returns the rules of a session-less legacy request without a version header.
func Assumed() *Rules { return assumed }

// Stateless returns the rules of the newest stateless revision.
func Stateless() *Rules { return newestStateless }

// Modern reports whether a version string, known or not, belongs to the stateless era: it is a
// date, not before the first stateless revision.
func Modern(version string) bool { return isDate(version) && version >= firstStateless }

// Since returns the version of the oldest revision with a feature. It is empty if there is none.
func Since(has func(*Rules) bool) string {
	for _, r := range all {
		if has(r) {
			return r.Version
		}
	}
	return ""
}

// Supported returns the versions served, newest first, as discovery and errors list them.
func Supported() []string { return supported }
