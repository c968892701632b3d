package matrix

import (
	"encoding/json"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// taskRows are about tasks: of the core in 2025-11-25, of the extension in 2026-07-28.
func taskRows() []row {
	return []row{
		{group: tasks, name: "tools/call, as a task", in: "---xx", works: taskMade, lacks: noTask},
		{group: tasks, name: "tasks/get", in: "---xx", works: taskGot},
		{group: tasks, name: "tasks/result", in: "---x-", works: taskResult},
		{group: tasks, name: "tasks/update", in: "----x", works: taskUpdated},
		{group: tasks, name: "tasks/cancel", in: "---xx", works: taskCancelled},
		{group: tasks, name: "tasks/list", in: "---x-", works: taskListed, only: func(_, transport string) bool { return transport != "stdio" }},
		{group: serverNotifications, name: "notifications/tasks", in: "----x", works: taskWatched, lacks: neverHeard},
		{group: serverNotifications, name: "notifications/tasks/status", in: "---x-", works: taskTold, lacks: neverHeard},
	}
}

// taskExtension are the definitions of the extension, closed as those of the revision are.
func taskExtension(defs map[string]any) {
	text, ms := map[string]any{"type": "string"}, map[string]any{"type": "integer", "minimum": 1}
	task := func(more map[string]any, required ...any) map[string]any {
		properties := map[string]any{
			"taskId": text, "statusMessage": text, "createdAt": map[string]any{"type": "string", "format": "date-time"},
			"lastUpdatedAt": map[string]any{"type": "string", "format": "date-time"}, "ttlMs": ms, "pollIntervalMs": ms,
			"status": map[string]any{"enum": []any{"working", "input_required", "completed", "failed", "cancelled"}}, "_meta": map[string]any{"type": "object"},
		}
		for name, p := range more {
			properties[name] = p
		}
		return map[string]any{
			"type": "object", "properties": properties, "additionalProperties": false,
			"required": append([]any{"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"}, required...),
		}
	}
	detailed := map[string]any{
		"inputRequests": map[string]any{"type": "object", "minProperties": 1}, "result": map[string]any{"$ref": "#/$defs/CallToolResult"},
		"error": map[string]any{"type": "object", "required": []any{"code", "message"}}, "resultType": map[string]any{"const": "complete"},
	}
	defs["CreateTaskResult"] = task(map[string]any{"resultType": map[string]any{"const": "task"}}, "resultType")
	defs["GetTaskResult"] = task(detailed, "resultType")
	filter, _ := defs["SubscriptionFilter"].(map[string]any)
	filter["properties"].(map[string]any)["taskIds"] = map[string]any{"type": "array", "items": text}
	told := map[string]any{}
	for name, p := range detailed {
		if name != "resultType" {
			told[name] = p
		}
	}
	defs["TaskNotification"] = map[string]any{
		"type": "object", "required": []any{"jsonrpc", "method", "params"}, "additionalProperties": false,
		"properties": map[string]any{"jsonrpc": text, "method": map[string]any{"const": "notifications/tasks"}, "params": task(told)},
	}
	defs["TaskAcknowledgement"] = map[string]any{
		"type": "object", "required": []any{"resultType"}, "additionalProperties": false,
		"properties": map[string]any{"resultType": map[string]any{"const": "complete"}, "_meta": map[string]any{"type": "object"}},
	}
}

// task makes a task.
func (c *cell) task(t *testing.T, tool string, arguments object) (id string) {
	t.Helper()
	members := calling(tool, arguments)
	if !stateless(c.version) {
		members["task"] = object{"ttl": 60000}
	}
	got := c.result(t, "tools/call", members)
	if made, ok := got["task"].(object); ok {
		got = made
	}
	if id, _ = got["taskId"].(string); id == "" || got["status"] != "working" && !stateless(c.version) {
		t.Fatalf("%s made no task: %v", tool, got)
	}
	return id
}

// taskListed: who is known lists its tasks, and is told that it can; who is not cannot.
func taskListed(t *testing.T, c *cell) {
	c.request(t, "tasks/list", object{}).wantError(t, -32601)
	if got := dig(c.hello, "capabilities", "tasks", "list"); got != nil {
		t.Errorf("nobody is told of tasks/list: %v", got)
	}
	who := *c
	who.peer = c.known(t, "alice")
	same(t, "the capability", dig(who.hello, "capabilities", "tasks"),
		object{"list": object{}, "cancel": object{}, "requests": object{"tools": object{"call": object{}}}})
	var made, listed []any
	for range 12 {
		made = append([]any{who.task(t, "slow_compute", object{"seconds": 0, "label": "x"})}, made...)
	}
	members := object{}
	for {
		page := who.result(t, "tasks/list", members)
		for _, one := range page["tasks"].([]any) {
			listed = append(listed, dig(one, "taskId"))
		}
		if members["cursor"] = page["nextCursor"]; members["cursor"] == nil {
			break
		}
	}
	same(t, "what is listed", listed, made)
	who.request(t, "tasks/list", object{"cursor": "forged"}).wantError(t, -32602)
	who.settle(t)
}

// status waits until a task has a status, and gives it.
func (c *cell) status(t *testing.T, id, want string) (got object) {
	t.Helper()
	await.Until(t, "the task to be "+want, func() bool {
		got = c.result(t, "tasks/get", object{"taskId": id})
		return got["status"] == want
	})
	return got
}

func taskMade(t *testing.T, c *cell) {
	c.status(t, c.task(t, "slow_compute", object{"seconds": 0, "label": "x"}), "completed")
	members := calling("failing_job", nil)
	if stateless(c.version) {
		return
	}
	c.request(t, "tools/call", members).wantError(t, -32601)
	members = calling("greet", object{"name": "Ada"})
	members["task"] = object{}
	c.request(t, "tools/call", members).wantError(t, -32601)
}

// noTask: what asks for a task is not understood, and the result is the tool's.
func noTask(t *testing.T, c *cell) {
	members := calling("slow_compute", object{"seconds": 0, "label": "x"})
	members["task"] = object{}
	if got := c.result(t, "tools/call", members); text(got) != "x was computed in 0 s." {
		t.Errorf("got %v", got)
	}
}

func taskGot(t *testing.T, c *cell) {
	failed := c.status(t, c.task(t, "protocol_error_job", nil), "failed")
	if stateless(c.version) != (failed["error"] != nil) {
		t.Errorf("the task is %v", failed)
	}
	is := "failed"
	if stateless(c.version) {
		is = "completed"
	}
	c.status(t, c.task(t, "failing_job", nil), is)
	c.request(t, "tasks/get", object{"taskId": "unknown"}).wantError(t, -32602)
}

// taskResult: it waits for the task, and asks what the task asks.
func taskResult(t *testing.T, c *cell) {
	id := c.task(t, "confirm_delete", object{"filename": "a.txt"})
	waiting := c.begin("tasks/result", object{"taskId": id}, nil)
	asked := c.answer(t, "elicitation/create", `{"action":"accept","content":{"answer":"yes"}}`)
	related := object{"taskId": id}
	same(t, "the task of the question", dig(asked.Params, "_meta", "io.modelcontextprotocol/related-task"), related)
	got := c.response(t, waiting).result(t)
	same(t, "the task of the result", dig(got, "_meta", "io.modelcontextprotocol/related-task"), related)
	if text(got) != "a.txt was deleted." {
		t.Errorf("got %v", got)
	}
	c.request(t, "tasks/result", object{"taskId": "unknown"}).wantError(t, -32602)

	// The task may end though nobody has answered, which ends the request as well.
	id = c.task(t, "confirm_delete", object{"filename": "b.txt"})
	waiting = c.begin("tasks/result", object{"taskId": id}, nil)
	c.await(t, "the question", func(m message) bool {
		return m.Method == "elicitation/create" && dig(m.Params, "_meta", "io.modelcontextprotocol/related-task", "taskId") == id
	})
	c.result(t, "tasks/cancel", object{"taskId": id})
	c.response(t, waiting).wantError(t, -31499)
}

func taskUpdated(t *testing.T, c *cell) {
	id := c.task(t, "multi_input", nil)
	asked, _ := c.status(t, id, "input_required")["inputRequests"].(object)
	if len(asked) != 2 {
		t.Fatalf("it asks %v", asked)
	}
	for key := range asked {
		c.result(t, "tasks/update", object{"taskId": id, "inputResponses": object{
			key: json.RawMessage(`{"action":"accept","content":{"answer":"A"}}`), "unknown": object{}}})
	}
	c.status(t, id, "completed")
}

func taskCancelled(t *testing.T, c *cell) {
	id := c.task(t, "slow_compute", object{"seconds": 60, "label": "x"})
	got := c.result(t, "tasks/cancel", object{"taskId": id})
	if stateless(c.version) == (got["status"] == "cancelled") {
		t.Errorf("tasks/cancel gave %v", got)
	}
	c.status(t, id, "cancelled")
	again := c.request(t, "tasks/cancel", object{"taskId": id})
	if stateless(c.version) {
		again.result(t)
	} else {
		again.wantError(t, -32602)
	}
}

// taskTold: the session hears of its tasks without having asked, on its own stream.
func taskTold(t *testing.T, c *cell) {
	id := c.task(t, "confirm_delete", object{"filename": "c.txt"})
	is := func(status string) {
		t.Helper()
		c.await(t, "the task to be told as "+status, func(m message) bool {
			return m.Method == c.row.name && m.Params["taskId"] == id && m.Params["status"] == status
		})
	}
	is("input_required")
	waiting := c.begin("tasks/result", object{"taskId": id}, nil)
	c.answer(t, "elicitation/create", `{"action":"accept","content":{"answer":"yes"}}`)
	c.response(t, waiting).result(t)
	is("completed")
	members := calling("slow_compute", object{"seconds": 1, "label": "x"})
	members["task"] = object{}
	got := c.response(t, c.begin("tools/call", members, object{"progressToken": "life"})).result(t)
	c.await(t, "progress of the task", func(m message) bool {
		return m.Method == "notifications/progress" && m.Params["progressToken"] == "life"
	})
	c.result(t, "tasks/cancel", object{"taskId": dig(got, "task", "taskId")})
	id, _ = dig(got, "task", "taskId").(string)
	is("cancelled")
}

func taskWatched(t *testing.T, c *cell) {
	id := c.task(t, "confirm_delete", object{"filename": "b.txt"})
	listening, ack := c.listen(t, object{"taskIds": []string{id, "unknown"}})
	same(t, "what is honoured", ack.Params["notifications"], object{"taskIds": []any{id}})
	is := func(status string) message {
		return c.await(t, "the task to be "+status, func(m message) bool {
			return m.Method == "notifications/tasks" && m.Params["status"] == status
		})
	}
	asked := is("input_required")
	c.tagged(t, asked.Params, listening)
	for key := range asked.Params["inputRequests"].(object) {
		c.result(t, "tasks/update", object{"taskId": id, "inputResponses": object{key: json.RawMessage(`{"action":"accept","content":{"answer":"yes"}}`)}})
	}
	if got := is("completed"); text(got.Params["result"].(object)) == "" {
		t.Errorf("told %v", got.Params)
	}
	c.unlisten(t, listening)
}
