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
)

// auditName is the file that a replica records in, and settingsName that of its settings.
func auditName(dir string, replica int) string {
	return filepath.Join(dir, fmt.Sprintf("audit%d.jsonl", replica))
}

func settingsName(dir string, replica int) string {
	return filepath.Join(dir, fmt.Sprintf("edge%d.yaml", replica))
}

// writeSettings makes the settings of a replica that must record, arguments included: they have the call's tag.
func writeSettings(dir string, replica int) error {
	text, err := json.Marshal(map[string]any{ // which is YAML
		"audit": map[string]any{"file": auditName(dir, replica), "required": true, "arguments": "whole"},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(settingsName(dir, replica), text, 0o600)
}

// record is a line of an audit.
type record struct {
	Event     string
	Call      string
	Decision  string
	Outcome   string
	Code      int
	Method    string
	Arguments struct{ Call string }
}

// trail is what the audits of all replicas say.
type trail struct {
	// decisions have the edge's ids of a call, by its tag, an id for each decision; outcomes are by that id.
	decisions map[string][]string
	outcomes  map[string][]record
	// torn are the lines that are no record.
	torn []string
}

// readTrail reads the audits of so many replicas, which have ended.
func readTrail(dir string, replicas int) (*trail, error) {
	t := &trail{decisions: map[string][]string{}, outcomes: map[string][]record{}}
	for n := 1; n <= replicas; n++ {
		raw, err := os.ReadFile(auditName(dir, n))
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
			t.decisions[r.Arguments.Call] = append(t.decisions[r.Arguments.Call], r.Call)
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
	decided := r.check("every call that ran, or was answered, has one record of its decision")
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
		return ids[0]
	}
	return ""
}

// decision judges the records of decisions on a call: what is not recorded does not take effect, and the replica that takes a
// call over decides nothing.
func (t *trail) decision(c *call, runs []*run) string {
	n := len(t.decisions[c.tag])
	switch {
	case n > 1:
		return fmt.Sprintf("%d decisions", n)
	case n == 0 && len(runs) > 0:
		return "it ran, and no decision is recorded"
	case n == 0 && c.response() != nil:
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
