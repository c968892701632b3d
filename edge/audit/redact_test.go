package audit

import (
	"encoding/json"
	"strings"
	"testing"
)

// stars replaces the text "secret" by stars.
type stars struct{}

func (stars) Text(text string) string { return strings.ReplaceAll(text, "secret", "***") }

func (stars) Arguments(raw json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(string(raw), "secret", "***"))
}

// TestRedacted: no text of a record that a client, a backend, a hook or an operator wrote has a
// secret. Values that the record shares are not modified.
func TestRedacted(t *testing.T) {
	to := &shelf{}
	l := New(Options{Sinks: map[string]Sink{"s": to}, Arguments: ArgumentsWhole, Redact: func() Redactor { return stars{} }})
	shared := []Hook{{Name: "h", Outcome: "deny", Reason: "a secret"}, {Name: "i", Outcome: "failed", Reason: "another secret"}}
	r := Record{Target: "x://secret", Shown: "secret", Reason: "for a secret", Hooks: shared}
	if err := l.Decided(t.Context(), &r, CallArguments{Effective: json.RawMessage(`{"a":"secret"}`), Sent: json.RawMessage(`{"b":"secret"}`)}); err != nil {
		t.Fatal(err)
	}
	l.Ended(&Record{Target: "secret", Reason: "secret", Hooks: shared})
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for i := range to.kept {
		lines = to.kept[i].appendLine(lines, "")
	}
	if text := string(lines); strings.Contains(text, "secret") || strings.Count(text, "***") != 11 {
		t.Errorf("recorded %s", text)
	}
	if shared[0].Reason != "a secret" {
		t.Errorf("the hooks of the request became %+v", shared)
	}
}
