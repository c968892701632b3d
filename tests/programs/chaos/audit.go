package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// auditName is the file that the replica of a name records in.
func auditName(dir, replica string) string { return filepath.Join(dir, "audit-"+replica+".jsonl") }

// record is a line of an audit.
type record struct {
	Event     string
	Call      string
	Attempt   int // of a decision, from 2 on
	Decision  string
	Outcome   string
	Code      int
	Method    string
	Arguments struct{ Call string }
}

// trail is what the audits of all replicas say.
type trail struct {
	// decisions on a call are by its tag, its outcomes by the edge's id.
	decisions, outcomes map[string][]record
	// torn are the lines that are no record.
	torn []string
}

// readTrail reads the audits of so many replicas, which have ended.
func readTrail(dir string, count int) (*trail, error) {
	t := &trail{decisions: map[string][]record{}, outcomes: map[string][]record{}}
	for n := 1; n <= count; n++ {
		raw, err := os.ReadFile(auditName(dir, replicas.Name(n)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		t.add(raw)
	}
	return t, nil
}

// add takes the lines of a file.
func (t *trail) add(raw []byte) {
	for line := range bytes.Lines(raw) {
		var r record
		switch err := json.Unmarshal(line, &r); {
		case err != nil || !bytes.HasSuffix(line, []byte("}\n")):
			t.torn = append(t.torn, fmt.Sprintf("%q: %v", line, err))
		case r.Method != "tools/call":
		case r.Event == "decision":
			t.decisions[r.Arguments.Call] = append(t.decisions[r.Arguments.Call], r)
		case r.Event == "outcome":
			t.outcomes[r.Call] = append(t.outcomes[r.Call], r)
		}
	}
}

// audit holds the audit against what happened.
func (r *report) audit(e *evidence) {
	t := e.trail
	if t == nil {
		return
	}
	decided := r.check("every call that ran, or was answered, has one record of its decision, and one for each time that it was run again")
	ended := r.check("every call that was answered has one record of how, unless its replica was lost then")
	whole := r.check("every line of the audit is a record, but for one of each replica that was lost")
	happened, decisions, outcomes, missing := e.happened(), 0, 0, 0
	for _, c := range e.clients {
		for _, x := range c.calls {
			runs := e.ledger.of(x.tag)
			say := func(why string) string { return why + "\n" + x.transcript(runs, happened) }
			decided.see(t.decision(x, runs), say)
			lost, why := t.outcome(x, runs, happened)
			ended.see(why, say)
			decisions += len(t.decisions[x.tag])
			outcomes += len(t.outcomes[t.id(x)])
			if lost {
				missing++
			}
		}
	}
	whole.seen = decisions + outcomes
	if len(t.torn) > len(e.losses) {
		whole.miss(fmt.Sprintf("%d lines are no records, after %d losses, such as %s", len(t.torn), len(e.losses), t.torn[0]))
	}
	r.rows = append(r.rows, row{"records of decisions", decisions, 0}, row{"records of outcomes", outcomes, 0},
		row{"outcomes lost with their replica", missing, 0}, row{"lines cut with their replica", len(t.torn), 0})
}

// id is the edge's of a call; empty: nothing was decided.
func (t *trail) id(c *call) string {
	if ids := t.decisions[c.tag]; len(ids) > 0 {
		return ids[0].Call
	}
	return ""
}

// decision judges the records of decisions on a call: what is not recorded does not take effect, and who runs the first round
// again decides on it again.
func (t *trail) decision(c *call, runs []*run) string {
	attempts := map[int]int{}
	for _, d := range t.decisions[c.tag] {
		attempts[max(d.Attempt, 1)]++
	}
	for attempt, n := range attempts {
		if n > 1 {
			return fmt.Sprintf("%d decisions on attempt %d", n, attempt)
		}
	}
	for _, x := range runs {
		if x.round == 1 && attempts[x.attempt] == 0 {
			return fmt.Sprintf("it ran, and no decision on attempt %d is recorded", x.attempt)
		}
	}
	if len(attempts) == 0 && c.response() != nil {
		return "it was answered, and no decision is recorded"
	}
	return ""
}

// writing is how long an outcome may take to be written, once the response is stored and a client may have it: so long its
// replica may be lost with it.
const writing = time.Second

// outcome judges the record of how a call ended. lost: it is missing, since its replica was lost when the call ended.
func (t *trail) outcome(c *call, runs []*run, losses []loss) (lost bool, why string) {
	told, all := c.response(), t.outcomes[t.id(c)]
	switch {
	case len(all) > 1:
		return false, fmt.Sprintf("%d outcomes: %+v", len(all), all)
	case told == nil:
		return false, ""
	case len(all) == 1 && (all[0].Outcome == "ok") != (told.text == "") || len(all) == 1 && all[0].Code != told.n:
		return false, fmt.Sprintf("its client was told %d %q, and the outcome is %+v", told.n, told.text, all[0])
	case len(all) == 1:
		return false, ""
	}
	var last run // whoever ended it
	if len(runs) > 0 {
		last = *runs[len(runs)-1]
	}
	if slices.ContainsFunc(losses, func(l loss) bool {
		// One that took it over, and ran nothing any more, is not known.
		return (l.by == last.by || told.n == codeUnknownOutcome) && l.at.After(last.start) && l.at.Before(told.at.Add(writing))
	}) {
		return true, ""
	}
	return false, "no outcome is recorded, and nothing was lost when it ended"
}
