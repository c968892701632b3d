package translate

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Features is what the edge supports, over all backends.
type Features struct {
	Tools, Resources, Prompts                      bool
	ToolsChanged, ResourcesChanged, PromptsChanged bool
	Subscribe, Completions                         bool
	// Tasks is true if calls of some tool may become tasks, TasksList if the caller's tasks can be
	// listed.
	Tasks, TasksList bool
	// Skills is true if skills/list and skills/get are served, Directories if
	// resources/directory/read is, too.
	Skills, Directories bool
	// Extensions maps ids of protocol extensions to their settings, JSON objects. Settings that are
	// not objects are left out.
	Extensions map[string]string
}

// Capabilities renders ServerCapabilities. They always include logging, because the edge filters
// it.
func Capabilities(r *revision.Rules, f Features) json.RawMessage {
	dst := append(make([]byte, 0, 256), `{"logging":{}`...)
	if f.Completions && r.CompletionsCapability {
		dst = append(dst, `,"completions":{}`...)
	}
	if f.Prompts {
		dst = appendFlags(append(dst, `,"prompts":`...), f.PromptsChanged, false)
	}
	if f.Resources {
		dst = appendFlags(append(dst, `,"resources":`...), f.ResourcesChanged, f.Subscribe)
	}
	if f.Tasks && r.Tasks {
		dst = append(dst, `,"tasks":{`...)
		if f.TasksList {
			dst = append(dst, `"list":{},`...)
		}
		dst = append(dst, `"cancel":{},"requests":{"tools":{"call":{}}}}`...)
	}
	if f.Tools {
		dst = appendFlags(append(dst, `,"tools":`...), f.ToolsChanged, false)
	}
	if r.Extensions {
		dst = appendExtensions(dst, r, f.Extensions)
	}
	return append(dst, '}')
}

func appendFlags(dst []byte, changed, subscribe bool) []byte {
	start := len(dst)
	if changed {
		dst = append(dst, `,"listChanged":true`...)
	}
	if subscribe {
		dst = append(dst, `,"subscribe":true`...)
	}
	return closeObject(dst, start)
}

func appendExtensions(dst []byte, r *revision.Rules, extensions map[string]string) []byte {
	before := len(dst)
	dst = append(dst, `,"extensions":`...)
	start := len(dst)
	for _, id := range slices.Sorted(maps.Keys(extensions)) {
		if (id == mcp.ExtensionTasks || id == mcp.ExtensionSkills) && !r.Stateless {
			continue // these extensions require a stateless revision
		}
		mark := len(dst)
		next, err := appendJSONObject(append(jsonrpc.AppendString(append(dst, ','), id), ':'), "extensions_json", extensions[id])
		if err != nil {
			next = next[:mark]
		}
		dst = next
	}
	if len(dst) == start {
		return dst[:before]
	}
	return closeObject(dst, start)
}
