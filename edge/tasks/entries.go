package tasks

import (
	"encoding/json"
	"strconv"
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
	At time.Time `json:"at"`
	// Tool, its Backend at that time, and Poll, in milliseconds, are set only in the first entry,
	// an EntryNotice.
	Tool    string `json:"tool"`
	Backend string `json:"backend"`
	Poll    int64  `json:"poll"`
	// Arguments are those of the call, in the first entry. Decisions on requests that name the task
	// use them.
	Arguments json.RawMessage `json:"arguments"`
	// Token is the client's progress token, in the first entry, for revisions with sessions.
	Token json.RawMessage `json:"token"`
	// Run is the run that begins with the entry: in the first entry and after a claim. nil
	// otherwise, and in entries of previous releases.
	Run *claim `json:"run"`
	// Message is set in an EntryLog, with the progress from which it was made: numbers, or empty.
	Message  string          `json:"message"`
	Progress json.RawMessage `json:"progress"`
	Total    json.RawMessage `json:"total"`
	// Key, Method and Params are set in an EntryRequest. The key is the id of its Ask.
	Key    string          `json:"key"`
	Method mcp.Method      `json:"method"`
	Params json.RawMessage `json:"params"`
	// Result, Failure or Cancelled is set in an EntryResponse. ToolError is true if the result has
	// isError.
	Result    json.RawMessage `json:"result"`
	ToolError bool            `json:"toolError"`
	Failure   *failure        `json:"error"`
	Cancelled bool            `json:"cancelled"`
}

// claim is the replica that runs the task from now on, and the round that it runs.
type claim struct {
	Replica string `json:"replica"`
	// Round, Attempt and Lapses are those of the record (state.Request).
	Round   int `json:"round"`
	Attempt int `json:"attempt"`
	Lapses  int `json:"lapses"`
	// Queued means that the backend is called later, in the task's turn.
	Queued bool `json:"queued"`
}

// failure is a stored error. Each revision has its own code for the kind.
type failure struct {
	Kind    string          `json:"kind"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// encode writes raw members unchanged.
func (e entry) encode() []byte {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	dst := append(make([]byte, 0, len(e.Result)+len(e.Params)+len(e.Arguments)+128), `{"at":"`...)
	dst = append(e.At.UTC().AppendFormat(dst, time.RFC3339Nano), '"')
	text := func(key, value string) {
		if value != "" {
			dst = jsonrpc.AppendString(append(dst, key...), value)
		}
	}
	raw := func(key string, value json.RawMessage) {
		if value != nil {
			dst = append(append(dst, key...), value...)
		}
	}
	text(`,"tool":`, e.Tool)
	text(`,"backend":`, e.Backend)
	if e.Poll > 0 {
		dst = strconv.AppendInt(append(dst, `,"poll":`...), e.Poll, 10)
	}
	raw(`,"token":`, e.Token)
	if r := e.Run; r != nil {
		dst = jsonrpc.AppendString(append(dst, `,"run":{"replica":`...), r.Replica)
		dst = strconv.AppendInt(append(dst, `,"round":`...), int64(r.Round), 10)
		dst = strconv.AppendInt(append(dst, `,"attempt":`...), int64(r.Attempt), 10)
		if r.Lapses > 0 {
			dst = strconv.AppendInt(append(dst, `,"lapses":`...), int64(r.Lapses), 10)
		}
		if r.Queued {
			dst = append(dst, `,"queued":true`...)
		}
		dst = append(dst, '}')
	}
	text(`,"message":`, e.Message)
	raw(`,"progress":`, e.Progress)
	raw(`,"total":`, e.Total)
	text(`,"key":`, e.Key)
	text(`,"method":`, string(e.Method))
	raw(`,"params":`, e.Params)
	raw(`,"result":`, e.Result)
	if e.ToolError {
		dst = append(dst, `,"toolError":true`...)
	}
	if f := e.Failure; f != nil {
		text(`,"error":{"kind":`, f.Kind)
		dst = jsonrpc.AppendString(append(dst, `,"message":`...), f.Message)
		raw(`,"data":`, f.Data)
		dst = append(dst, '}')
	}
	if e.Cancelled {
		dst = append(dst, `,"cancelled":true`...)
	}
	raw(`,"arguments":`, e.Arguments)
	return append(dst, '}')
}

// begins returns the first entry of a task's log.
func begins(first *entry) state.Entry {
	return state.Entry{Kind: state.EntryNotice, Data: first.encode()}
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

// statusEntry returns a status message.
func statusEntry(message string) *state.Entry {
	return &state.Entry{Kind: state.EntryLog, Data: entry{Message: message}.encode()}
}

// progresses returns a status message made from progress.
func progresses(params json.RawMessage) *state.Entry {
	e := entry{Message: statusOf(params)}
	if raw, ok := jsonrpc.Member(params, "progress"); ok && jsonrpc.TypeOf(raw) == jsonrpc.Number {
		e.Progress = raw
	}
	if raw, ok := jsonrpc.Member(params, "total"); ok && jsonrpc.TypeOf(raw) == jsonrpc.Number {
		e.Total = raw
	}
	return &state.Entry{Kind: state.EntryLog, Data: e.encode()}
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
			if len(block.Text) <= maxErrorText {
				return block.Text
			}
			return strings.ToValidUTF8(block.Text[:maxErrorText], "") + "…"
		}
	}
	return ""
}
