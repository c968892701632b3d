package tasks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// entry is one entry of a task's log; its kind determines which members it has.
type entry struct {
	// At is the time of the write.
	At time.Time `json:"at,omitzero"`
	// Tool, its Backend at that time, and Poll, in milliseconds, are set only in the first entry,
	// an EntryNotice.
	Tool    string `json:"tool,omitempty"`
	Backend string `json:"backend,omitempty"`
	Poll    int64  `json:"poll,omitempty"`
	// Arguments are those of the call, in the first entry. Decisions on requests that name the task
	// use them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Token is the client's progress token, in the first entry, for revisions with sessions.
	Token json.RawMessage `json:"token,omitempty"`
	// Run is the run that begins with the entry: in the first entry and after a claim. nil
	// otherwise, and in entries of previous releases.
	Run *claim `json:"run,omitempty"`
	// Message is set in an EntryLog, with the progress from which it was made: numbers, or empty.
	Message  string          `json:"message,omitempty"`
	Progress json.RawMessage `json:"progress,omitempty"`
	Total    json.RawMessage `json:"total,omitempty"`
	// Key, Method and Params are set in an EntryRequest. The key is the id of its Ask.
	Key    string          `json:"key,omitempty"`
	Method mcp.Method      `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	// Result, Failure or Cancelled is set in an EntryResponse. ToolError is true if the result has
	// isError.
	Result    json.RawMessage `json:"result,omitempty"`
	ToolError bool            `json:"toolError,omitempty"`
	Failure   *failure        `json:"error,omitempty"`
	Cancelled bool            `json:"cancelled,omitempty"`
}

// claim is the replica that runs the task from now on, and the round that it runs.
type claim struct {
	Replica string `json:"replica"`
	// Round, Attempt and Lapses are those of the record (state.Request).
	Round   int `json:"round"`
	Attempt int `json:"attempt"`
	Lapses  int `json:"lapses,omitempty"`
	// Queued means that the backend is called later, in the task's turn.
	Queued bool `json:"queued,omitempty"`
}

// failure is a stored error. Each revision has its own code for the kind.
type failure struct {
	Kind    string          `json:"kind"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// encode returns the entry as JSON. The members of unbounded size are written unchanged, other raw
// ones without white space.
func (e entry) encode() []byte {
	e.At = cmp.Or(e.At, time.Now()).UTC()
	raw := [...]struct {
		name  string
		value json.RawMessage
	}{{"params", e.Params}, {"result", e.Result}, {"arguments", e.Arguments}}
	e.Params, e.Result, e.Arguments = nil, nil, nil
	var b bytes.Buffer
	text := json.NewEncoder(&b)
	text.SetEscapeHTML(false)
	if err := text.Encode(&e); err != nil { // a raw member that is not JSON
		return failed(err)
	}
	dst := bytes.TrimSuffix(b.Bytes(), []byte("}\n"))
	for _, m := range raw {
		if m.value != nil {
			dst = jsonrpc.AppendMember(slices.Grow(dst, len(m.name)+len(m.value)+5), m.name, m.value)
		}
	}
	return append(dst, '}')
}

// claimed returns the entries with which the run of a claimed task begins (call.Config). The entry
// of the first owner, whom the first entry names, only ends the wait for the turn and may be
// dropped. Later ones are kept.
func (t *Tasks) claimed(r *medium.Record) []state.Entry {
	c, kind := claim{Replica: t.o.Replica, Round: r.Round, Attempt: r.Attempt, Lapses: r.Lapses}, state.EntryNotice
	if r.Epoch.Counter() == 1 {
		kind = state.EntryLog
	}
	return []state.Entry{{Kind: kind, Data: entry{Run: &c}.encode()}}
}

// progresses returns a status message made from progress: that of the backend, or the numbers.
func progresses(params json.RawMessage) *state.Entry {
	number := func(name string) json.RawMessage {
		if raw, _ := jsonrpc.Member(params, name); jsonrpc.TypeOf(raw) == jsonrpc.Number {
			return raw
		}
		return nil
	}
	e := entry{Progress: number("progress"), Total: number("total")}
	text, _ := jsonrpc.Member(params, "message")
	if e.Message, _ = jsonrpc.Unquote(text); e.Message == "" {
		e.Message = numbers(e.Progress, e.Total)
	}
	return &state.Entry{Kind: state.EntryLog, Data: e.encode()}
}

// numbers returns progress as text. total may be nil.
func numbers(progress, total json.RawMessage) string {
	if total == nil {
		return string(progress)
	}
	return string(progress) + " of " + string(total)
}

// failed returns the end of a task with an error.
func failed(err error) []byte {
	me := mcp.AsError(err)
	return entry{Failure: &failure{Kind: me.Kind.String(), Message: me.Message, Data: me.Data}}.encode()
}

// error returns the stored error.
func (f *failure) error() *mcp.Error {
	return &mcp.Error{Kind: mcp.KindNamed(f.Kind), Message: f.Message, Data: f.Data}
}

// maxErrorText bounds errorText, in bytes.
const maxErrorText = 256

// errorText returns the first text of a result with isError, shortened, or an empty text. It is the
// status message of a failed task, for clients that have not read the result.
func (e *entry) errorText() string {
	if !e.ToolError {
		return ""
	}
	var result struct {
		Content []struct {
			Type, Text string
		}
	}
	if json.Unmarshal(e.Result, &result) != nil {
		return ""
	}
	for _, block := range result.Content {
		if block.Type == "text" && block.Text != "" {
			return clipText(block.Text, maxErrorText)
		}
	}
	return ""
}

// clipText shortens a text that is longer than most bytes.
func clipText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
