// Package policy authorizes operations of a caller on existing tools, prompts and resources.
//
// A [Policy] has rules, whose conditions are expressions of the Common Expression Language (CEL),
// and the scopes that operations require. The first rule whose condition is true decides. An
// operation that it allows still requires its scopes. A decision without the arguments of a call,
// as for lists, may be open: see [Policy.Listed].
//
// Decisions without arguments are cached by entitlement: the attributes of a caller that the policy
// inspects. Callers with equal entitlements share them.
package policy
