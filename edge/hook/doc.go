// Package hook asks hook servers about requests, results and lists, by the contract mcpedge.hook.v1. A Hook is the client of one
// server, with its bounds and its breaker; a Chain has the hooks in the order of the settings, which its user asks and whose verdicts it
// applies; Lists calls the hooks on lists, and applies their verdicts.
package hook
