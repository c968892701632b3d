// Package schema checks JSON by the JSON Schemas of tools (MCP, "Tools"), within bounds that hold whatever
// the schema and the value are.
//
// The validator that does the checking cannot be stopped and collects every violation, and a schema may apply
// many schemas to each value, multiplied with every level. So the cost of a check is computed before it:
// [Schema.Prepare] walks the value as the validator will, applies nothing, and ends at [MaxCost]. Only a check
// within it is run.
package schema
