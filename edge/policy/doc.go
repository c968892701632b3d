// Package policy decides what a caller may do with a tool, a prompt or a resource that exists.
//
// A [Policy] has rules, whose conditions are expressions of the Common Expression Language (CEL), and says which scopes
// an operation needs. The first rule that holds decides; what it allows may still need scopes that the caller does not
// have. Without the arguments of a call, which is how lists are made, a decision may be open: see [Policy.Listed].
//
// What was decided without arguments is remembered by entitlement, which is all that the policy looks at of a caller, so
// that callers with the same rights share it.
package policy
