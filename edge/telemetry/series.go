package telemetry

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// series is the key of an operation's duration series. All parts are bounded: the method is one of
// MCP, the target one that a backend serves, the set one of the settings, the failure one of the edge's.
type series struct {
	method  mcp.Method
	target  string
	version string
	// set is a configured one.
	set  string
	pipe bool
	// failure is the error.type; code is the JSON-RPC error's, or 0.
	failure string
	code    int
}

func (s series) attributes() []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, 9)
	out = append(out, AttrMethod.String(string(s.method)))
	out = append(out, s.about()...)
	if s.version != "" {
		out = append(out, AttrVersion.String(s.version))
	}
	if s.set != "" {
		out = append(out, AttrSet.String(s.set))
	}
	out = append(out, transport(s.pipe)...)
	if s.failure != "" {
		out = append(out, AttrErrorType.String(s.failure))
	}
	if s.code != 0 {
		out = append(out, AttrStatusCode.String(strconv.Itoa(s.code)))
	}
	return out
}

// about returns what the operation is about.
func (s series) about() []attribute.KeyValue {
	switch {
	case s.method == mcp.MethodToolsCall && s.target != "":
		return []attribute.KeyValue{executeTool, AttrToolName.String(s.target)}
	case s.method == mcp.MethodToolsCall:
		return []attribute.KeyValue{executeTool}
	case s.method == mcp.MethodPromptsGet && s.target != "":
		return []attribute.KeyValue{AttrPromptName.String(s.target)}
	}
	return nil
}

var (
	executeTool = AttrOperation.String("execute_tool")
	overPipe    = []attribute.KeyValue{AttrTransport.String("pipe")}
	overHTTP    = []attribute.KeyValue{AttrTransport.String("tcp"), AttrProtocolName.String("http")}
)

func transport(pipe bool) []attribute.KeyValue {
	if pipe {
		return overPipe
	}
	return overHTTP
}

// methods are the methods of MCP in all revisions.
var methods = func() map[mcp.Method]bool {
	out := map[mcp.Method]bool{}
	for _, m := range []mcp.Method{
		mcp.MethodInitialize, mcp.MethodPing, mcp.MethodDiscover, mcp.MethodListen,
		mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodResourcesList, mcp.MethodTemplatesList,
		mcp.MethodResourcesRead, mcp.MethodSubscribe, mcp.MethodUnsubscribe,
		mcp.MethodPromptsList, mcp.MethodPromptsGet, mcp.MethodComplete, mcp.MethodSetLevel,
		mcp.MethodSkillsList, mcp.MethodSkillsGet, mcp.MethodDirectoryRead,
		mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel, mcp.MethodTasksResult, mcp.MethodTasksList,
		mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodListRoots,
		mcp.NotifyInitialized, mcp.NotifyCancelled, mcp.NotifyProgress, mcp.NotifyRootsChanged,
	} {
		out[m] = true
	}
	return out
}()

// knownMethod returns m, or other for a method that MCP does not have, to bound the series.
func knownMethod(m mcp.Method) mcp.Method {
	if methods[m] {
		return m
	}
	return otherName
}
