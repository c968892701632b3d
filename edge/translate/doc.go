// Package translate turns MCP's JSON into the contract's protobuf messages and back, under the Rules
// of a revision, in one pass. Whatever a revision cannot carry is converted or left out here, and
// nowhere else.
//
// Everything is a pure function, safe for concurrent use. Results are appended to byte slices without
// reflection. Open JSON from a backend (the `…_json` fields) is validated once, made one line if it
// spans several, and otherwise passed on byte for byte.
//
// What the conversions do, by what the revision lacks:
//
//   - Audio: an embedded resource with a blob; in sampling, which has no resources, the call fails.
//   - ResourceLinks: a text block with the link's name and URI.
//   - Structured, StructuredAny: structuredContent and outputSchema are left out, where only the
//     latter is lacking unless they are objects. A text block holds the serialization in any case.
//   - BooleanSchemas: true and false among a tool schema's properties become {} and {"not":{}}.
//   - Titles: title, _meta of objects and lastModified are left out; with ToolAnnotations a tool's
//     title moves there.
//   - Icons: icons, description and websiteUrl of an implementation, and $schema are left out.
//   - ToolAnnotations, ProgressMessage, CompletionsCapability, Extensions: left out.
//   - ElicitMode: oneOf becomes enum with enumNames, defaults stay on booleans only, and a
//     multi-select or a URL fails the call. ElicitForm: any elicitation does.
//   - SamplingTools: tools, tool blocks and messages of several blocks fail the call.
//   - ResultType: keys of the specification's own name space are left out of results' and
//     notifications' _meta.
//
// A backend that breaks the contract gives an error of mcp.KindContract that names the field. Errors
// returned are always of type *mcp.Error.
package translate
