// Package quota limits how often callers may call, by the generic cell rate algorithm (GCRA).
//
// A [Rule] gives each key, such as a principal, a budget of calls: Burst at once, regained at a rate. Replicas share
// the budgets through a [Store]. So that a call seldom waits for it, a replica leases a few calls of a key's budget
// at a time, which are spent before they are used, and gives back within a second what it did not use: what all
// replicas admit together is never more than the budget. While the store cannot be reached, each replica keeps to its
// share of the budget, by the number of replicas that there were last.
package quota
