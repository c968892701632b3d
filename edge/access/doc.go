// Package access authorizes requests by policy, policy server and quotas. No other package does.
// Decide, by rules and scopes, runs when the target is resolved; the Permit that it returns, by the policy server and
// quotas, when the round runs, after its arguments were checked against the tool's schema.
// All run before the first byte of the response.
package access
