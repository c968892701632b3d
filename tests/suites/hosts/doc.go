// Package hosts drives the programs in which people use MCP servers, with the entries that `mcpedge install` writes: `make stages ONLY=hosts` runs it.
//
// Every host comes from the npm or PyPI package that package.json or requirements.txt pins, and runs without a terminal, in an empty home, without an account, with a scripted
// model (model_test.go) in place of its own. It meets two replicas of the program that MCPEDGE_BINARY names, on one Redis behind a plain load
// balancer: open, and locked by an API key. What the edge received and what the host printed decides each cell of the table in docs/hosts.md; a run
// that shows something else fails, and -update writes it.
package hosts
