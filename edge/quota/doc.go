// Package quota limits how often callers may call, by the generic cell rate algorithm (GCRA).
//
// A [Rule] gives each key, such as a principal, a budget of calls: Burst at once, regained at a
// rate. Replicas share the budgets through a [Store]. To avoid a request to the store for each
// call, a replica leases several calls of a key's budget at a time. The store charges leased calls
// at once, and unused ones are returned within a second, so that all replicas together never admit
// more than the budget. While the store is unavailable, each replica enforces its share of the
// budget, by the last known number of replicas.
package quota
