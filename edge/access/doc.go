// Package access authorizes requests by policy, policy server and quotas. No other package does.
//
// Decide evaluates rules and scopes when the target is resolved, and returns a Permit. The Permit
// asks the policy server and charges the quotas when the round runs, after the arguments were
// validated against the tool's schema. All stages run before the first byte of the response.
package access
