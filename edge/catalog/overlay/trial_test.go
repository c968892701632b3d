package overlay

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// pinAt returns a pinned argument of an entry.
func pinAt(place, name, value string) Argument {
	return Argument{Name: name, Pin: Fixed(value), Place: place}
}

// An enforced pin wins over one in audit mode, whichever comes first and however each writes the name. Of two in audit mode the first wins.
func TestTrialsMerge(t *testing.T) {
	enforced := func(name string) Entry {
		return Entry{Backend: "b", Names: pattern.New("*"), Arguments: []Argument{pinAt("p", name, `1`)}}
	}
	tried := func(place, name, value string) Entry {
		return Entry{Backend: "b", Names: pattern.New("t*"), Trials: []Argument{pinAt(place, name, value)}}
	}
	described := Entry{Backend: "b", Names: pattern.New("t"), Arguments: []Argument{{Name: "x", Description: "new", Place: "d"}}}
	for what, c := range map[string]struct {
		entries []Entry
		pins    string // places of what is in force
		trials  string
	}{
		"alone":                {[]Entry{tried("a", "x", `1`)}, "", "a.arguments.x"},
		"enforced first":       {[]Entry{enforced("x"), tried("a", "x", `2`)}, "p", ""},
		"enforced last":        {[]Entry{tried("a", "x", `2`), enforced("x")}, "p", ""},
		"enforced otherwise":   {[]Entry{tried("a", "user_id", `2`), enforced("userId")}, "p", ""},
		"another argument":     {[]Entry{enforced("y"), tried("a", "x", `2`)}, "p", "a.arguments.x"},
		"two in audit mode":    {[]Entry{tried("a", "x", `1`), tried("b", "x", `2`), tried("b", "z", `3`)}, "", "a.arguments.x b.arguments.z"},
		"with a description":   {[]Entry{tried("a", "x", `1`), described}, "", "a.arguments.x"},
		"both, and of another": {[]Entry{tried("a", "x", `1`), tried("b", "y", `1`), enforced("x")}, "p", "b.arguments.y"},
	} {
		e := New(Entries{Tools: c.entries}).Tools().Of("b", "t")
		var pins, trials []string
		for i := range e.Arguments {
			if a := &e.Arguments[i]; a.pinned() {
				pins = append(pins, a.at(a.pinAt))
			}
		}
		for i := range e.Trials {
			trials = append(trials, e.Trials[i].Rule())
		}
		if strings.Join(pins, " ") != c.pins || strings.Join(trials, " ") != c.trials {
			t.Errorf("%s: pins of %q, trials %q", what, pins, trials)
		}
		if other := New(Entries{Tools: c.entries[:1]}); len(c.entries) > 1 && New(Entries{Tools: c.entries}).Equal(other) {
			t.Errorf("%s: equal to the first entry alone", what)
		}
	}
}

// What a pin in audit mode would have done depends on what the caller sends and has, and on the tool.
func TestTry(t *testing.T) {
	const schema = `{"type":"object","properties":{"x":{"type":"string"},"n":{"type":"integer"}}}`
	trials := ToolTrials([]Argument{pinAt("a", "x", `"v"`), pinAt("a", "n", `"v"`), pinAt("a", "gone", `1`)}, schema)
	effects := func(trials []Argument, given ...json.RawMessage) (out []string) {
		for _, trial := range Try(trials, &mcp.Principal{}, given...) {
			if trial.By != "pin" || !strings.HasPrefix(trial.Rule, "a.arguments.") {
				t.Errorf("%+v", trial)
			}
			out = append(out, trial.Effect)
		}
		return out
	}
	for given, want := range map[string]string{`{}`: "replace", `{"y":1}`: "replace", `{"x":"v"}`: "deny", `{"X[0]":1}`: "deny", `{"x":null}`: "deny"} {
		if got := effects(trials, json.RawMessage(given)); !slices.Equal(got, []string{want, "hide", "hide"}) {
			t.Errorf("%s: %q, want %s", given, got, want)
		}
	}
	if got := effects(trials, json.RawMessage(`{}`), json.RawMessage(`{"x":"decoded"}`)); got[0] != "deny" {
		t.Errorf("in the form that the backend reads: %q", got)
	}
	prompt := PromptTrials([]Argument{pinAt("a", "x", `"v"`), pinAt("a", "e", `""`), pinAt("a", "gone", `"v"`)}, []*pb.PromptArgument{{Name: "x"}, {Name: "e"}})
	if got := effects(prompt, json.RawMessage(`{}`)); !slices.Equal(got, []string{"replace", "deny", "hide"}) {
		t.Errorf("a prompt: %q", got)
	}
}
