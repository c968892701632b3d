// Package schema checks JSON against the JSON Schemas of tools (MCP, "Tools"), within bounds that
// hold for every schema and value.
//
// The validator that it uses cannot be cancelled and collects every violation, and a schema may
// apply many schemas to each value, multiplied at every level. So the cost of a check is computed
// in advance: [Schema.Prepare] walks the value as the validator will, applies nothing, and stops at
// [MaxCost]. A check is run only if its cost is within that bound.
package schema
