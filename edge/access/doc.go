// Package access authorizes requests by policy, policy server and quotas. No other package does.
// Decide, by rules and scopes, runs when the target is resolved; Admit, by policy server and
// quotas, when the round runs. Both run before the arguments are checked against the tool's schema
// and before the first byte of the response: a call that does not fit the schema is charged to the
// quotas.
package access
