// Package apps runs the example of an MCP App, examples/apps, behind an edge under a real host's code,
// @modelcontextprotocol/ext-apps: `make stages ONLY=apps` runs it.
package apps
