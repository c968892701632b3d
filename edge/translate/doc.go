// Package translate converts MCP's JSON into the contract's protobuf messages and back, under the
// Rules of a revision, in one pass. Only this package converts or omits what a revision does not
// support.
//
// Every function is pure and safe for concurrent use. Results are appended to byte slices without
// reflection. Open JSON from a backend (the `…_json` fields) is validated once, written in one
// line, and otherwise passed on byte for byte.
//
// These are the conversions, by the rule that a revision lacks:
//
//   - Audio: an embedded resource with a blob; in sampling, which has no resources, the call fails.
//   - ResourceLinks: a text block with the link's name and URI.
//   - Structured: structuredContent and outputSchema are left out. StructuredAny: they are left out
//     unless they are objects. A text block holds the serialization in any case.
//   - BooleanSchemas: true and false among a tool schema's properties become {} and {"not":{}}.
//   - Titles: title, _meta of objects and lastModified are left out; with ToolAnnotations a tool's
//     title moves there.
//   - Icons: icons, description and websiteUrl of an implementation, and $schema are left out.
//   - ToolAnnotations, ProgressMessage, CompletionsCapability, Extensions: left out.
//   - ElicitMode: oneOf becomes enum with enumNames, only booleans keep their defaults, and a
//     multi-select or a URL fails the call. ElicitForm: any elicitation fails the call.
//   - SamplingTools: tools, tool blocks and messages of several blocks fail the call.
//   - ResultType: keys of the specification's own name space are left out of the _meta of results
//     and notifications.
//
// If a backend breaks the contract, the error is of mcp.KindContract and names the field. Errors
// returned are always of type *mcp.Error.
package translate
