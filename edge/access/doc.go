// Package access authorizes requests by policy, policy server and quotas. No other package does. A request is authorized after
// its target is resolved and before its arguments are validated, so that an error precedes the first byte of the response.
package access
