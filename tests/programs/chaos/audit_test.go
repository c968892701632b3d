package main

import (
	"fmt"
	"strings"
	"testing"
)

// trailOf reads lines as those of an audit.
func trailOf(lines ...string) *trail {
	t := &trail{decisions: map[string][]record{}, outcomes: map[string][]record{}}
	for _, line := range lines {
		t.add([]byte(line))
	}
	return t
}

func TestTrail(t *testing.T) {
	const decided = `{"event":"decision","call":"Q","method":"tools/call","decision":"allow","arguments":{"call":"1-1-1"}}` + "\n"
	outcome := func(call, outcome string, code int) string {
		return fmt.Sprintf(`{"event":"outcome","call":%q,"method":"tools/call","outcome":%q,"code":%d}`+"\n", call, outcome, code)
	}
	again := strings.Replace(decided, `"call":"Q"`, `"call":"Q","attempt":2`, 1)
	ended, runs := asking(response(400, "", 0))
	second := *runs[0]
	second.attempt = 2
	twice := []*run{runs[0], &second}
	failed, _ := asking(response(400, "lost", codeUnknownOutcome))
	open, _ := asking()
	silent := &call{tag: "1-1-1", fate: cut, entries: []entry{line(0, entry{kind: sent})}}
	lost := func(by string, ms int) []loss { return []loss{{by: by, at: at(ms)}} }
	for name, x := range map[string]struct {
		trail             *trail
		call              *call
		runs              []*run
		losses            []loss
		decision, outcome string
		missing           bool
	}{
		"both":                            {trailOf(decided, outcome("Q", "ok", 0)), ended, runs, nil, "", "", false},
		"of other calls, too":             {trailOf(decided+outcome("R", "ok", 0), outcome("Q", "ok", 0)), ended, runs, nil, "", "", false},
		"neither":                         {trailOf(), ended, runs, nil, "it ran, and no decision", "no outcome", false},
		"answered, not run":               {trailOf(), ended, nil, nil, "it was answered, and no decision", "no outcome", false},
		"nothing to record":               {trailOf(), silent, nil, nil, "", "", false},
		"run, not answered":               {trailOf(), silent, runs, nil, "it ran, and no decision", "", false},
		"two decisions":                   {trailOf(decided, decided, outcome("Q", "ok", 0)), ended, runs, nil, "2 decisions on attempt 1", "", false},
		"decided again":                   {trailOf(decided, again, outcome("Q", "ok", 0)), ended, twice, nil, "", "", false},
		"not decided again":               {trailOf(decided, outcome("Q", "ok", 0)), ended, twice, nil, "no decision on attempt 2", "", false},
		"decided again, never before":     {trailOf(again, outcome("Q", "ok", 0)), ended, twice[1:], nil, "", "", false},
		"decided again twice":             {trailOf(decided, again, again, outcome("Q", "ok", 0)), ended, twice, nil, "2 decisions on attempt 2", "", false},
		"two outcomes":                    {trailOf(decided, outcome("Q", "ok", 0), outcome("Q", "ok", 0)), ended, runs, nil, "", "2 outcomes", false},
		"another outcome":                 {trailOf(decided, outcome("Q", "internal", -32603)), ended, runs, nil, "", "its client was told 0", false},
		"another code":                    {trailOf(decided, outcome("Q", "unknown_outcome", -32603)), failed, runs, nil, "", "its client was told -31520", false},
		"not ended":                       {trailOf(decided), open, runs, nil, "", "", false},
		"lost with its replica":           {trailOf(decided), ended, runs, lost("2.1", 410), "", "", true},
		"another replica was lost":        {trailOf(decided), ended, runs, lost("1.1", 410), "", "nothing was lost", false},
		"lost before it ran":              {trailOf(decided), ended, runs, lost("2.1", 200), "", "nothing was lost", false},
		"lost long after":                 {trailOf(decided), ended, runs, lost("2.1", 5000), "", "nothing was lost", false},
		"lost with who had taken it over": {trailOf(decided), failed, runs, lost("3.1", 410), "", "", true},
	} {
		wantSays(t, name+": the decision", x.trail.decision(x.call, x.runs), x.decision)
		missing, why := x.trail.outcome(x.call, x.runs, x.losses)
		wantSays(t, name+": the outcome", why, x.outcome)
		if missing != x.missing {
			t.Errorf("%s: missing is %v", name, missing)
		}
	}
	for name, text := range map[string]string{
		"cut":     decided + `{"event":"deci` + "\n" + decided,
		"the end": decided + decided[:len(decided)-1],
		"mixed":   decided[:20] + decided,
	} {
		if got := len(trailOf(text).torn); got != 1 {
			t.Errorf("%s: %d torn lines, want 1", name, got)
		}
	}
}
