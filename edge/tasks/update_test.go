package tasks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// questions returns n questions of a task.
func questions(n int) (out []entry) {
	for i := range n {
		out = append(out, entry{Key: fmt.Sprintf("q%d.1", i), Method: mcp.MethodElicit})
	}
	return out
}

// TestCostOfAnswers: answers to unasked questions take no memory, however many there are.
func TestCostOfAnswers(t *testing.T) {
	asked := questions(16)
	object := func(n int) json.RawMessage {
		var b strings.Builder
		b.WriteString(`{"q3.1":{"action":"accept"}`)
		for i := range n {
			fmt.Fprintf(&b, `,"u%d":{}`, i)
		}
		return json.RawMessage(b.String() + "}")
	}
	cost := func(raw json.RawMessage) float64 {
		return testing.AllocsPerRun(5, func() {
			if given, _, err := pickAnswers(raw, asked); err != nil || len(given) != 1 || given[0].Key != "q3.1" {
				t.Fatal(given, err)
			}
		})
	}
	// Allocations of other goroutines are counted, too.
	small, large := cost(object(10)), cost(object(100_000))
	if large > 2*small {
		t.Errorf("%g allocations with 100,000 answers to nothing, %g with 10", large, small)
	}
	if _, unknown, err := pickAnswers(object(1000), asked); unknown != 1000 || err != nil {
		t.Errorf("%d unknown, %v", unknown, err)
	}
}

// FuzzAnswers: every object is read in one pass. Each member is looked up once, and only answers to
// questions are kept, each once.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"q0.1":{},"q1.1":{"a":[{}]},"x":1}`), uint8(2))
	f.Add([]byte(`{"q0.1":{},"\u00710.1":{}}`), uint8(1))
	f.Add([]byte(`{"q0.1":[],"q0.1":{}}`), uint8(1))
	f.Fuzz(func(t *testing.T, raw []byte, n uint8) {
		asked := questions(int(n % 17))
		given, unknown, err := pickAnswers(raw, asked)
		if err != nil {
			if kindOf(err) == mcp.KindNone {
				t.Error(err)
			}
			return
		}
		var all map[string]json.RawMessage
		if json.Unmarshal(raw, &all) != nil {
			t.Fatalf("%q was taken", raw)
		}
		if len(given) > len(asked) || int64(len(given))+unknown > int64(len(raw)) {
			t.Errorf("%d answers and %d unknown ones of %d bytes to %d questions", len(given), unknown, len(raw), len(asked))
		}
		seen := map[string]bool{}
		for _, r := range given {
			if seen[r.Key] || string(all[r.Key]) != string(r.Result) {
				t.Errorf("the answer to %q is %s, of %s", r.Key, r.Result, raw)
			}
			seen[r.Key] = true
		}
		for _, q := range asked {
			if _, there := all[q.Key]; there != seen[q.Key] {
				t.Errorf("the answer to %q: %v, though it is %v that there is one", q.Key, seen[q.Key], there)
			}
		}
	})
}
