package tasks

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// TestEntriesKeepTheirBytes: an entry is read as it was written. Its members of unbounded size are the same bytes, and a text takes no more
// than it needs.
func TestEntriesKeepTheirBytes(t *testing.T) {
	raw := json.RawMessage(`{ "a": "<\u003c&>", "b":1.0 }`)
	for name, e := range map[string]entry{
		"first":    {Tool: "t", Backend: "b", Poll: 5, Arguments: raw, Token: json.RawMessage(`"<1>"`), Run: &claim{Replica: "a", Round: 1, Attempt: 2, Lapses: 3, Queued: true}},
		"message":  {Message: "a <b> & c\n", Progress: json.RawMessage("1.50"), Total: json.RawMessage("2e1")},
		"question": {Key: "k.1", Method: mcp.MethodElicit, Params: raw},
		"result":   {Result: raw, ToolError: true},
		"failure":  {Failure: &failure{Kind: "internal", Message: "<no>", Data: json.RawMessage(`{"x":"<"}`)}},
		"cancel":   {Cancelled: true},
	} {
		e.At = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
		var got entry
		text := e.encode()
		if err := json.Unmarshal(text, &got); err != nil || string(got.encode()) != string(text) {
			t.Errorf("%s: %s is read as %+v: %v", name, text, got, err)
		}
		if string(got.Arguments) != string(e.Arguments) || string(got.Params) != string(e.Params) || string(got.Result) != string(e.Result) ||
			string(got.Token) != string(e.Token) || string(got.Progress) != string(e.Progress) || got.Message != e.Message || !got.At.Equal(e.At) {
			t.Errorf("%s: wrote %+v, read %+v", name, e, got)
		}
		if f := e.Failure; f != nil && (got.Failure == nil || string(got.Failure.Data) != string(f.Data) || got.Failure.Message != f.Message) {
			t.Errorf("%s: wrote %+v, read %+v", name, *f, got.Failure)
		}
	}
	if text := (entry{Failure: &failure{Data: json.RawMessage("{")}}).encode(); !json.Valid(text) {
		t.Errorf("data that is not JSON: %s", text)
	}
}
