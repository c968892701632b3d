package tasks

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Rendering of tasks in both eras.

// metaRelated is the key of `_meta` that names the task to which a message of 2025-11-25 belongs.
const metaRelated = "io.modelcontextprotocol/related-task"

// noteCreated counts a request that has become a task.
func (t *Tasks) noteCreated(id string) {
	t.counters.Created.Add(1)
	t.noteRecent(id)
}

// createdReply returns the reply to a request that has become a task.
func (t *Tasks) createdReply(rules *revision.Rules, c *mcp.Call, v *view) mcp.Reply {
	if rules.Stateless {
		reply := t.complete(rules, c, "task", t.appendTask(nil, rules, v))
		reply.Task = v.ID
		return reply
	}
	dst := append(t.appendTask([]byte(`{"task":{`), rules, v), '}', '}')
	return mcp.Reply{Result: dst, Task: v.ID}
}

// stateReply returns the reply to tasks/get, and to tasks/cancel of 2025-11-25.
func (t *Tasks) stateReply(rules *revision.Rules, c *mcp.Call, v *view) mcp.Reply {
	if !rules.Stateless {
		return mcp.Reply{Result: append(t.appendTask([]byte{'{'}, rules, v), '}')}
	}
	return t.complete(rules, c, "complete", t.appendDetailed(nil, rules, v))
}

// complete returns a result of a stateless revision; members may be empty.
func (t *Tasks) complete(rules *revision.Rules, c *mcp.Call, kind string, members []byte) mcp.Reply {
	dst := append(make([]byte, 0, len(members)+256), `{"resultType":"`+kind+`",`...)
	if len(members) > 0 {
		dst = append(append(dst, members...), ',')
	}
	dst = append(dst, `"_meta":{"`+mcp.MetaServerInfo+`":`...)
	dst = append(dst, t.o.ServerInfo(rules, c.Set)...)
	return mcp.Reply{Result: append(dst, '}', '}')}
}

// appendTask appends the members of a Task, which has neither results nor questions.
func (t *Tasks) appendTask(dst []byte, rules *revision.Rules, v *view) []byte {
	now, status := time.Now(), v.status
	if !rules.Stateless && v.over() && v.ToolError {
		status = Failed // Since 2026-07-28 a result with isError is completed; before it is failed.
	}
	dst = jsonrpc.AppendString(append(dst, `"taskId":`...), v.ID)
	dst = append(dst, `,"status":"`+string(status)+`"`...)
	if v.Message != "" {
		dst = jsonrpc.AppendString(append(dst, `,"statusMessage":`...), v.Message)
	}
	dst = append(dst, `,"createdAt":"`+v.Created.UTC().Format(time.RFC3339Nano)+`","lastUpdatedAt":"`+v.Updated.UTC().Format(time.RFC3339Nano)+`"`...)
	ttl, poll := `,"ttl":`, `,"pollInterval":`
	if rules.Stateless {
		ttl, poll = `,"ttlMs":`, `,"pollIntervalMs":`
	}
	dst = strconv.AppendInt(append(dst, ttl...), t.ttl(v, now).Milliseconds(), 10)
	return strconv.AppendInt(append(dst, poll...), t.pollOf(v, now).Milliseconds(), 10)
}

// appendProgress appends the params of notifications/progress of a task, without braces.
func appendProgress(dst []byte, v *view) []byte {
	dst = append(append(dst, `"progressToken":`...), v.token...)
	dst = append(append(dst, `,"progress":`...), v.progress...)
	if v.total != nil {
		dst = append(append(dst, `,"total":`...), v.total...)
	}
	if v.Message != numbers(v.progress, v.total) { // The message is the backend's own.
		dst = jsonrpc.AppendString(append(dst, `,"message":`...), v.Message)
	}
	return dst
}

// appendDetailed appends the members of a DetailedTask of the extension.
func (t *Tasks) appendDetailed(dst []byte, rules *revision.Rules, v *view) []byte {
	dst = t.appendTask(dst, rules, v)
	switch v.status {
	case InputRequired:
		dst = append(dst, `,"inputRequests":`...)
		for i, e := range v.asks {
			dst = jsonrpc.AppendString(append(dst, "{,"[min(i, 1)]), e.Key)
			dst = append(dst, `:{"method":"`+string(e.Method)+`"`...)
			if e.Params != nil {
				dst = append(append(dst, `,"params":`...), e.Params...)
			}
			dst = append(dst, '}')
		}
		dst = append(dst, '}')
	case Completed:
		dst = append(append(dst, `,"result":`...), resultFor(rules, v)...)
	case Failed:
		e := v.end.Failure
		dst = append(strconv.AppendInt(append(dst, `,"error":{"code":`...), int64(rules.Code(e.error().Kind)), 10), `,"message":`...)
		dst = jsonrpc.AppendString(dst, e.Message)
		if e.Data != nil {
			dst = append(append(dst, `,"data":`...), e.Data...)
		}
		dst = append(dst, '}')
	}
	return dst
}

// resultFor returns the result of a completed task under a revision. Stateless revisions have
// resultType; earlier ones do not. Earlier ones accept structured content only if it is an object,
// and do not name the server that answered.
func resultFor(rules *revision.Rules, v *view) json.RawMessage {
	of := rulesOf(v.Version)
	if of.ResultType == rules.ResultType && rules.Stateless {
		return v.end.Result
	}
	dst := []byte{'{'}
	if rules.ResultType {
		dst = append(dst, `"resultType":"complete"`...)
	}
	dst = appendMembers(dst, v.end.Result, func(key string, value json.RawMessage) bool {
		return key != "resultType" && (rules.Stateless || key != "_meta") &&
			(key != "structuredContent" || rules.StructuredAny || jsonrpc.TypeOf(value) == jsonrpc.Object)
	})
	if !rules.Stateless {
		meta, _ := jsonrpc.Member(v.end.Result, "_meta")
		dst = jsonrpc.AppendMember(dst, "_meta", related(meta, v.ID))
	}
	return append(dst, '}')
}

// appendMembers appends the members of an object, or of nothing, for which keep returns true.
func appendMembers(dst, object []byte, keep func(key string, value json.RawMessage) bool) []byte {
	_ = jsonrpc.Members(object, func(key string, value json.RawMessage) error {
		if keep(key, value) {
			dst = jsonrpc.AppendMember(dst, key, value)
		}
		return nil
	})
	return dst
}

// related returns a `_meta` object with the members of meta, which may be nil, that also names the
// task.
func related(meta []byte, id string) []byte {
	dst := appendMembers([]byte{'{'}, meta, func(key string, _ json.RawMessage) bool { return key != mcp.MetaServerInfo && key != metaRelated })
	task := jsonrpc.AppendMember([]byte{'{'}, "taskId", jsonrpc.AppendString(nil, id))
	return append(jsonrpc.AppendMember(dst, metaRelated, append(task, '}')), '}')
}

// withRelated names the task in the `_meta` of a params object.
func withRelated(params json.RawMessage, id string) json.RawMessage {
	meta, _ := jsonrpc.Member(params, "_meta")
	dst := appendMembers([]byte{'{'}, params, func(key string, _ json.RawMessage) bool { return key != "_meta" })
	return append(jsonrpc.AppendMember(dst, "_meta", related(meta, id)), '}')
}
