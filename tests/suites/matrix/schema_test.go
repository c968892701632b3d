package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaDir is the directory with the schemas; empty: the check is left out.
func schemaDir() string { return os.Getenv("MCP_SCHEMA_DIR") }

// schemas are the definitions of one revision, closed: what a definition does not name is a fault
// where the published schema lets anything pass. Safe for concurrent use.
type schemas struct {
	version string
	defs    map[string]any // nil: no check
	prefix  string         // of a definition's address

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// loadSchemas reads a revision's schema; without MCP_SCHEMA_DIR the result accepts everything.
func loadSchemas(t *testing.T, version string) *schemas {
	t.Helper()
	s := &schemas{version: version, compiled: map[string]*jsonschema.Schema{}}
	if schemaDir() == "" {
		t.Log("the schema check is left out: MCP_SCHEMA_DIR names no directory of schemas")
		return s
	}
	raw, err := os.ReadFile(filepath.Join(schemaDir(), version+".json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	root, _ := doc.(map[string]any)
	where := "$defs"
	if root[where] == nil {
		where = "definitions"
	}
	s.defs, _ = root[where].(map[string]any)
	s.prefix = "mcp:" + version + "#/" + where + "/"
	widen(version, s.defs)
	for name, def := range s.defs {
		if !strings.HasSuffix(name, "MetaObject") {
			closed(def)
		}
	}
	s.compiler = jsonschema.NewCompiler()
	s.compiler.AssertFormat()
	if err := s.compiler.AddResource("mcp:"+version, doc); err != nil {
		t.Fatal(err)
	}
	return s
}

// widen names what the edge sends knowingly although the revision's schema does not: extensions of the
// protocol, which work with any revision that lets capabilities be extended.
func widen(version string, defs map[string]any) {
	if version == vNew {
		taskExtension(defs)
	}
	if version != vJun && version != vNov {
		return
	}
	if version == vNov { // It is both a Task and NotificationParams, which are closed here; the edge sends no _meta.
		defs["TaskStatusNotificationParams"] = map[string]any{"$ref": "#/$defs/Task"}
	}
	capabilities, _ := defs["ServerCapabilities"].(map[string]any)
	properties, _ := capabilities["properties"].(map[string]any)
	properties["extensions"] = map[string]any{"type": "object"}
}

// open are the members whose values have further members by their nature.
var open = map[string]bool{"_meta": true, "inputSchema": true, "outputSchema": true}

// closed forbids, in every object schema that lists members and says nothing of others, the others.
func closed(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, e := range s {
			closed(e)
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, p := range properties {
			if !open[name] {
				closed(p)
			}
		}
		for _, keyword := range []string{"items", "anyOf", "oneOf", "additionalProperties"} {
			closed(s[keyword])
		}
		if _, said := s["additionalProperties"]; !said && len(properties) > 0 {
			s["additionalProperties"] = false
		}
	}
}

// check holds a value against a definition.
func (s *schemas) check(definition string, value any) error {
	if s.defs == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	compiled := s.compiled[definition]
	if compiled == nil {
		if s.defs[definition] == nil {
			return fmt.Errorf("revision %s has no %s", s.version, definition)
		}
		var err error
		if compiled, err = s.compiler.Compile(s.prefix + definition); err != nil {
			return err
		}
		s.compiled[definition] = compiled
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("no %s of revision %s: %w", definition, s.version, err)
	}
	return nil
}

// results are the definitions of results by method.
var results = map[string]string{
	"initialize": "InitializeResult", "server/discover": "DiscoverResult",
	"tools/list": "ListToolsResult", "tools/call": "CallToolResult",
	"resources/list": "ListResourcesResult", "resources/templates/list": "ListResourceTemplatesResult",
	"resources/read": "ReadResourceResult",
	"prompts/list":   "ListPromptsResult", "prompts/get": "GetPromptResult",
	"completion/complete": "CompleteResult", "subscriptions/listen": "SubscriptionsListenResult",
	"ping": "EmptyResult", "logging/setLevel": "EmptyResult",
	"resources/subscribe": "EmptyResult", "resources/unsubscribe": "EmptyResult",
	"tasks/get": "GetTaskResult", "tasks/result": "GetTaskPayloadResult", "tasks/cancel": "CancelTaskResult", "tasks/list": "ListTasksResult", "tasks/update": "TaskAcknowledgement",
}

// requests and notifications are the definitions of what servers send on their own, by method.
var requests = map[string]string{
	"ping": "PingRequest", "roots/list": "ListRootsRequest",
	"sampling/createMessage": "CreateMessageRequest", "elicitation/create": "ElicitRequest",
}

var notifications = map[string]string{
	"notifications/progress": "ProgressNotification", "notifications/message": "LoggingMessageNotification",
	"notifications/cancelled":                  "CancelledNotification",
	"notifications/tools/list_changed":         "ToolListChangedNotification",
	"notifications/prompts/list_changed":       "PromptListChangedNotification",
	"notifications/resources/list_changed":     "ResourceListChangedNotification",
	"notifications/resources/updated":          "ResourceUpdatedNotification",
	"notifications/elicitation/complete":       "ElicitationCompleteNotification",
	"notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
	"notifications/tasks":                      "TaskNotification",
	"notifications/tasks/status":               "TaskStatusNotification",
}

// errorDefinitions are those of errors that have one of their own, by code: of a whole message if the
// name is in messageErrors, else of its member error.
var errorDefinitions = map[int]string{
	-32700: "ParseError", -32600: "InvalidRequestError", -32601: "MethodNotFoundError",
	-32602: "InvalidParamsError", -32603: "InternalError", -32020: "HeaderMismatchError",
	-32021: "MissingRequiredClientCapabilityError", -32022: "UnsupportedProtocolVersionError",
}

// message checks one message that the edge sent; method is that of the request which a response
// answers, empty when it answers none.
func (s *schemas) message(raw []byte, method string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return err
	}
	m, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("no object: %s", raw)
	}
	if own, ok := m["method"].(string); ok {
		return s.call(own, m)
	}
	if _, failed := m["error"]; failed {
		return s.failure(m)
	}
	envelope := "JSONRPCResponse"
	if s.defs["JSONRPCResultResponse"] != nil {
		envelope = "JSONRPCResultResponse"
	}
	if err := s.check(envelope, m); err != nil {
		return err
	}
	return s.result(method, m["result"])
}

// call checks a request or a notification.
func (s *schemas) call(method string, m map[string]any) error {
	kind, definition := "JSONRPCNotification", notifications[method]
	if _, request := m["id"]; request {
		if stateless(s.version) {
			return fmt.Errorf("servers of revision %s send no requests", s.version)
		}
		kind, definition = "JSONRPCRequest", requests[method]
	}
	if definition == "" {
		return fmt.Errorf("servers do not send %s", method)
	}
	if err := s.check(kind, m); err != nil {
		return err
	}
	if definition, _ := s.defs[definition].(map[string]any); definition != nil {
		// Only later revisions define whole messages; elsewhere the envelope is apart.
		if properties, _ := definition["properties"].(map[string]any); properties["jsonrpc"] == nil {
			m = maps.Clone(m)
			delete(m, "jsonrpc")
			delete(m, "id")
		}
	}
	return s.check(definition, m)
}

// result checks a result by the request's method.
func (s *schemas) result(method string, result any) error {
	object, _ := result.(map[string]any)
	definition := results[method]
	switch {
	case definition == "":
		return fmt.Errorf("a result answers %q, which has none", method)
	case definition == "EmptyResult" && len(object) > 0:
		return fmt.Errorf("the result of %s is not empty: %v", method, object)
	case object["resultType"] == "input_required":
		return s.inputRequired(method, object)
	case method == "tools/call" && (object["resultType"] == "task" || object["task"] != nil):
		return s.check("CreateTaskResult", result)
	case method == "tasks/cancel" && stateless(s.version):
		definition = "TaskAcknowledgement"
	case method == "tasks/result":
		return errors.Join(s.check(definition, result), s.check("CallToolResult", result))
	}
	if stateless(s.version) && object["resultType"] != "complete" {
		return fmt.Errorf("the result of %s has the resultType %v", method, object["resultType"])
	}
	return s.check(definition, result)
}

// inputRequired checks the concrete definition of each request that such a result asks for.
func (s *schemas) inputRequired(method string, result map[string]any) error {
	if method != "tools/call" && method != "prompts/get" && method != "resources/read" {
		return fmt.Errorf("%s may not ask for input", method)
	}
	asked, _ := result["inputRequests"].(map[string]any)
	for key, entry := range asked {
		request, _ := entry.(map[string]any)
		name, _ := request["method"].(string)
		if err := s.check(requests[name], request); err != nil {
			return fmt.Errorf("inputRequests.%s: %w", key, err)
		}
	}
	return s.check("InputRequiredResult", result)
}

// failure checks an error response. One that answers nothing has no id, over any transport, and the
// older schemas cannot say so: there the rest of it is checked.
func (s *schemas) failure(m map[string]any) error {
	envelope := "JSONRPCError"
	if s.defs["JSONRPCErrorResponse"] != nil {
		envelope = "JSONRPCErrorResponse"
	}
	whole := maps.Clone(m)
	if _, ok := m["id"]; !ok && s.version <= vJun {
		whole["id"] = json.Number("0")
	}
	if err := s.check(envelope, whole); err != nil {
		return err
	}
	failure, _ := m["error"].(map[string]any)
	number, _ := failure["code"].(json.Number)
	code, _ := number.Int64()
	if code <= -32020 && code >= -32099 && (!stateless(s.version) || errorDefinitions[int(code)] == "") {
		return fmt.Errorf("the code %d is reserved, and has no meaning in revision %s", code, s.version)
	}
	definition := errorDefinitions[int(code)]
	if definition == "" || s.defs[definition] == nil {
		return nil
	}
	if schema, _ := s.defs[definition].(map[string]any); schema != nil {
		if properties, _ := schema["properties"].(map[string]any); properties["error"] != nil {
			return s.check(definition, m)
		}
	}
	return s.check(definition, failure)
}
