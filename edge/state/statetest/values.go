package statetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// recordsOf returns the records that calls begin with.
func recordsOf(session, stream string, calls []state.Request) (out []*medium.Record) {
	for _, c := range calls {
		rec := &medium.Record{Request: c, Session: session, Stream: stream, Phase: state.PhaseDispatched, Epoch: first}
		if len(calls) > 1 {
			rec.Batch = len(calls)
		}
		out = append(out, rec)
	}
	return out
}

func ending(before []state.Entry, response []byte) []state.Entry {
	out := append([]state.Entry(nil), before...)
	if response != nil {
		out = append(out, state.Entry{Kind: state.EntryResponse, Data: response})
	}
	return out
}

func record(id string) *state.Session {
	owner := caller("alice")
	owner.Claims = nil // sessions do not store them
	return &state.Session{
		ID: id, Version: "some version",
		Principal:    owner,
		ClientInfo:   json.RawMessage(`{"name":"c","version":"1"}`),
		Capabilities: json.RawMessage(`{"elicitation":{}}`),
		LogLevel:     mcp.LogInfo, Initialized: true, Subscriptions: []string{"file:///1"},
		Digest: mcp.Digest{Tools: 1<<64 - 1, Resources: 2, Prompts: 3}, Attachment: 4, Serial: 5,
		Created: time.Unix(1_700_000_000, 123_456_789),
	}
}

// callOf returns the call that tests begin: its request id is its id in quotes.
func callOf(id string) state.Request {
	return state.Request{
		ID: id, RequestID: `"` + id + `"`, Method: mcp.MethodToolsCall, Via: "call_tool", Params: json.RawMessage(`{"name":"t"}`),
		Shown: "shown", Added: json.RawMessage(`{"tenant":"t"}`),
		LogLevel: mcp.LogInfo, Deadline: time.Now().Add(time.Hour), Repeatable: true, Round: 1, Attempt: 1,
		Trace: traceOf(id), Began: time.Unix(1_700_000_000, 987_654_321), Principal: caller("alice"), Backend: "backend",
	}
}

// caller returns a principal with all stored fields.
func caller(subject string) mcp.Principal {
	return mcp.Principal{
		Subject: subject, Issuer: "https://issuer.example", Scopes: []string{"x"}, Roles: []string{"y", "z"}, Client: "c", Actor: "agent",
		TokenID: "7f", Until: time.Unix(1_900_000_000, 1), Forwarded: map[string]json.RawMessage{"tenant": []byte(`"t"`), "n": []byte(`7`)},
		Claims: map[string]json.RawMessage{
			"region": []byte(`"eu"`), "tenant": []byte(`9007199254740993`), "level": []byte(`1e400`), "teams": []byte(`["a",{"b":7.50}]`),
		},
	}
}

// traceOf returns the trace of the call that tests begin.
func traceOf(id string) string { return "trace of " + id }

func asksOf(ids ...string) []state.Ask {
	var out []state.Ask
	for _, id := range ids {
		out = append(out, state.Ask{
			ID: id, Key: "key-" + id, Method: mcp.MethodElicit,
			Message: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":"elicitation/create"}`, id),
			Asked:   time.Unix(1_700_000_001, 5),
		})
	}
	return out
}

func answer(text string) state.Answer {
	return state.Answer{Result: json.RawMessage(`{"action":"accept","content":{"x":"` + text + `"}}`), By: caller("bob")}
}

// answered returns the questions that have an answer.
func answered(r *medium.Record) (out []medium.Question) {
	for _, q := range r.Asked {
		if q.Answer != nil {
			out = append(out, q)
		}
	}
	return out
}

func response(call string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":{}}`, call)
}

func progress(v float64) state.Entry {
	return state.Entry{Kind: state.EntryProgress, Progress: v, Data: fmt.Appendf(nil, `{"progress":%v}`, v)}
}

func notice(text string) state.Entry {
	return state.Entry{Kind: state.EntryNotice, Data: fmt.Appendf(nil, `{"notice":%q}`, text)}
}

func texts(entries []medium.Entry) []string {
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, string(e.Data))
	}
	return out
}
