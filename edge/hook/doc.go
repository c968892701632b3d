// Package hook consults hook servers about requests, results and lists, by the contract
// mcpedge.hook.v1.
//
// A Hook is the client of one server, with its bounds and its breaker. A Chain lists hooks in the
// order of the settings; its user makes their RPCs and applies their verdicts. Lists does both for
// lists.
package hook
