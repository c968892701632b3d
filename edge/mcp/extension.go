package mcp

import "strings"

// The ids of protocol extensions that the edge knows.
const (
	// ExtensionApps is MCP Apps: pages that a host shows beside a tool. It changes no messages; it
	// only uses `_meta` of tools and resources, and resources with `ui:` URIs.
	ExtensionApps = "io.modelcontextprotocol/ui"
	// ExtensionSkills is skills, of 2026-07-28 and later: skills/list, skills/get and
	// resources/directory/read.
	ExtensionSkills = "io.modelcontextprotocol/skills"
	// ExtensionTasks is tasks as an extension, of 2026-07-28 and later. The edge implements it,
	// never a backend.
	ExtensionTasks = "io.modelcontextprotocol/tasks"
)

// OwnExtension reports whether an extension's id is in the name space of the protocol itself: the
// second label before the slash is modelcontextprotocol or mcp (Base Protocol, "_meta").
func OwnExtension(id string) bool {
	vendor, _, _ := strings.Cut(id, "/")
	labels := strings.Split(vendor, ".")
	return len(labels) > 1 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp")
}
