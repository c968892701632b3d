// Package portable rewrites the schema of a tool's arguments so that the clients and model interfaces in use
// take it: what tools/list shows (MCP, "Tools"). Arguments are checked by the schema as the backend wrote
// it, so what is shown may be looser, never narrower.
//
// A portable schema has an object at its root and no combinator there, no references, one type at each
// place or an anyOf that stands alone, members named within [A-Za-z0-9_.-]{1,64}, and only the keywords
// that every interface knows. What it cannot say is said in descriptions. docs/schemas.md has the table.
//
// A value that the full schema accepts is accepted by the portable one. There is one exception: where any
// JSON is taken, arrays within arrays are shown [AnyDepth] deep, since each array must say what it holds.
//
// Schemas come from backends: they are read within bounds, and nothing is fetched.
package portable
