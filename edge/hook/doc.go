// Package hook asks hook servers about requests and results, by the contract mcpedge.hook.v1. A Hook is the client of one
// server, with its bounds and its breaker; a Chain has the hooks in the order of the settings. The package does not know what is done
// with a verdict.
package hook
