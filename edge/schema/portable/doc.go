// Package portable rewrites the schema of a tool's arguments into a form that the clients and model
// interfaces in use accept: what tools/list shows (MCP, "Tools"). Arguments are checked by the
// original schema, so the portable schema may be looser, never narrower.
//
// A portable schema has an object without combinators at its root, no references, one type or only
// an anyOf at each place, member names within [A-Za-z0-9_.-]{1,64}, and only the keywords that
// every interface supports. Descriptions say what the schema cannot express. docs/schemas.md has
// the table.
//
// The portable schema accepts every value that the full schema accepts, with one exception: where
// any JSON is accepted, arrays within arrays are shown [AnyDepth] levels deep, because each array
// must describe its items.
//
// Schemas come from backends: they are read within bounds, and nothing is fetched.
package portable
