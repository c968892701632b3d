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

// TestCostOfAnswers: answers to unasked questions take bounded memory, however many there are.
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
			p, err := pickAnswers(raw, asked)
			if err != nil {
				t.Fatal(err)
			}
			if given := p.given(); len(given) != 1+mostUnmatched || given[0].Key != "q3.1" {
				t.Fatal(given)
			}
		})
	}
	// Allocations of other goroutines are counted, too.
	small, large := cost(object(mostUnmatched)), cost(object(100_000))
	if large > 2*small {
		t.Errorf("%g allocations with 100,000 answers to nothing, %g with %d", large, small, mostUnmatched)
	}
	if p, err := pickAnswers(object(1000), asked); err != nil || p.unknown != 1000 || len(p.unmatched) != mostUnmatched {
		t.Errorf("%+v, %v", p, err)
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
		p, err := pickAnswers(raw, asked)
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
		given := p.given()
		given = given[:len(given)-len(p.unmatched)]
		if len(given) > len(asked) || int64(len(given))+p.unknown > int64(len(raw)) || len(p.unmatched) > mostUnmatched {
			t.Errorf("%d answers, %d unknown ones and %d kept of %d bytes to %d questions", len(given), p.unknown, len(p.unmatched), len(raw), len(asked))
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
