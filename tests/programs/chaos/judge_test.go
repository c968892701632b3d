package main

import (
	"strings"
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at is so many milliseconds after the beginning of the test's time.
func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// line is an entry at a time.
func line(ms int, e entry) entry {
	e.at = at(ms)
	return e
}

// counted is a countdown that runs on 1.1 and has told so many steps; more follows.
func counted(to int, more ...entry) *call {
	c := &call{tag: "1-1-1", tool: "countdown", fate: answered}
	c.entries = append(c.entries, line(0, entry{kind: sent}), line(10, entry{kind: opened, by: "1.1"}),
		line(10, entry{kind: got, by: "1.1", id: "s.1.0"}))
	for i := 1; i <= to; i++ {
		c.entries = append(c.entries, line(10+50*i, entry{kind: progressed, by: "1.1", id: "s.1." + string(rune('A'+i)), n: i}))
	}
	c.entries = append(c.entries, more...)
	return c
}

func response(ms int, text string, code int) entry {
	return line(ms, entry{kind: responded, by: "1.1", id: "s.1.99", text: text, n: code})
}

// wantSays checks that a judgement is "" when part is, and else contains it.
func wantSays(t *testing.T, name, got, part string) {
	t.Helper()
	if (part == "") != (got == "") || !strings.Contains(got, part) {
		t.Errorf("%s: %q, want %q", name, got, part)
	}
}

func TestOneResponse(t *testing.T) {
	with := func(f fate, c *call) *call { c.fate = f; return c }
	bare := func(f fate) *call { return &call{tag: "1-1-1", fate: f, entries: []entry{line(0, entry{kind: sent})}} }
	for name, c := range map[string]struct {
		call  *call
		rules rules
		want  string
	}{
		"one":                    {counted(20, response(2000, "", 0)), rules{}, ""},
		"two":                    {counted(20, response(2000, "", 0), response(2001, "", 0)), rules{}, "2 responses"},
		"none":                   {with(unanswered, counted(3)), rules{cuts: true}, "0 responses"},
		"something after it":     {counted(1, response(100, "", 0), line(101, entry{kind: progressed, n: 2})), rules{}, "after the response"},
		"forgotten":              {with(forgotten, counted(3)), rules{}, "forgotten"},
		"forgotten, rolled back": {with(forgotten, counted(3)), rules{rollback: true}, ""},
		"cut without an id":      {bare(cut), rules{cuts: true}, ""},
		"cut where nothing may":  {bare(cut), rules{}, "cut"},
		"put off":                {bare(rejected), rules{unavailable: true}, ""},
		"put off without reason": {bare(rejected), rules{cuts: true}, "rejected"},
		"hanging":                {bare(unanswered), rules{cuts: true, unavailable: true, rollback: true}, "unanswered"},
	} {
		wantSays(t, name, oneResponse(c.call, c.rules), c.want)
	}
}

func TestProgress(t *testing.T) {
	again := func(id string, n int) entry { return line(1500, entry{kind: progressed, id: id, n: n}) }
	for name, c := range map[string]struct {
		call  *call
		rules rules
		want  string
	}{
		"whole":              {counted(20, response(2000, "", 0)), rules{}, ""},
		"ends early":         {counted(19, response(2000, "", 0)), rules{}, "ended at 19"},
		"early, with error":  {counted(19, response(2000, "lost", -31520)), rules{}, ""},
		"twice":              {counted(3, again("s.1.x", 3)), rules{}, "3 came after 3"},
		"back":               {counted(3, again("s.1.x", 2)), rules{unavailable: true}, "2 came after 3"},
		"a gap":              {counted(3, again("s.1.x", 5)), rules{}, "missing"},
		"a gap without":      {counted(3, again("s.1.x", 5)), rules{unavailable: true}, ""},
		"again, rolled back": {counted(3, again("s.2.x", 1)), rules{rollback: true}, ""},
		"again, same epoch":  {counted(3, again("s.1.x", 1)), rules{rollback: true}, "1 came after 3"},
	} {
		wantSays(t, name, progress(c.call, c.rules), c.want)
	}
}

func TestRepeatedIDs(t *testing.T) {
	seen := map[string]bool{}
	c := counted(3, line(300, entry{kind: got, id: "s.1.D"}), response(2000, "", 0))
	wantSays(t, "a farewell repeats the last id", repeated(c, seen), "")
	wantSays(t, "another call with the same ids", repeated(counted(1), seen), "s.1.B came twice")
}

// asking is a trip's call: run on 1.1, asked at 100, answered at 200 through 2.1, which runs it at 210.
func asking(more ...entry) (*call, []*run) {
	c := &call{tag: "1-1-1", tool: "book_trip", fate: answered, entries: append([]entry{
		line(0, entry{kind: sent}), line(10, entry{kind: opened, by: "1.1"}),
		line(100, entry{kind: asked, by: "1.1", id: "s.1.1", text: `"q"`}),
		line(200, entry{kind: answering, text: `"q"`}), line(205, entry{kind: taken, by: "2.1", text: `"q"`}),
	}, more...)}
	return c, []*run{{by: "1.1", attempt: 1, round: 1, start: at(5), end: at(20)}, {by: "2.1", attempt: 1, round: 2, start: at(210), end: at(400)}}
}

func TestLossesOf(t *testing.T) {
	lost := func(by string, ms int) loss { return loss{by: by, at: at(ms)} }
	c, runs := asking(response(12000, "", 0))
	for name, x := range map[string]struct {
		losses []loss
		want   int
	}{
		"the owner":                      {[]loss{lost("2.1", 300)}, 1},
		"one that was the owner":         {[]loss{lost("1.1", 300)}, 0},
		"a stranger":                     {[]loss{lost("3.1", 300)}, 0},
		"everybody":                      {[]loss{lost("", 300)}, 1},
		"after the end":                  {[]loss{lost("2.1", 13000)}, 0},
		"who cannot have claimed it yet": {[]loss{lost("2.1", 300), lost("3.1", 1500)}, 1},
		"who may have claimed it":        {[]loss{lost("2.1", 300), lost("3.1", 4000)}, 2},
	} {
		if got := len(lossesOf(c, runs, x.losses)); got != x.want {
			t.Errorf("%s: %d losses, want %d", name, got, x.want)
		}
	}
	// An answer that was cut may have made either the owner: where it went first, and where again.
	c.entries = append(c.entries[:4:4], line(201, entry{kind: untaken, by: "3.1"}), line(300, entry{kind: answering}),
		line(301, entry{kind: taken, by: "1.1"}), response(12000, "", 0))
	if got := len(lossesOf(c, runs[:1], []loss{lost("3.1", 310)})); got != 1 {
		t.Errorf("%d losses of a replica that may have taken the answer", got)
	}
}

func TestUnknownOutcomesAreExplained(t *testing.T) {
	lost := []loss{{by: "2.1", at: at(300)}}
	r := &report{}
	unknown := response(5000, "lost", codeUnknownOutcome)
	c, runs := asking(unknown)
	wantSays(t, "dispatched", r.booking(c, runs, lossesOf(c, runs, lost), rules{unknown: true}), "")
	wantSays(t, "where nothing is lost", r.booking(c, runs, lossesOf(c, runs, lost), rules{}), "error")
	wantSays(t, "without a loss", r.booking(c, runs, nil, rules{unknown: true}), "error")
	c, runs = asking(line(250, entry{kind: asked, text: `"r"`}), unknown)
	wantSays(t, "while the client was asked", r.booking(c, runs, lossesOf(c, runs, lost), rules{unknown: true}), "error")
	if r.unknown != 1 {
		t.Errorf("%d unknown outcomes counted", r.unknown)
	}
}

func TestCountdownMayErrOnlyAsPoison(t *testing.T) {
	r := &report{}
	c := counted(5, response(9000, "lost", codeUnknownOutcome))
	few, all := make([]loss, attempts-1), make([]loss, attempts)
	wantSays(t, "lost often", r.countdown(c, few, rules{unknown: true}), "error")
	wantSays(t, "lost each time", r.countdown(c, all, rules{unknown: true}), "")
	wantSays(t, "lost each time, where nothing is lost", r.countdown(c, all, rules{}), "error")
	wantSays(t, "another error", r.countdown(counted(5, response(9000, "no", -32603)), all, rules{unknown: true}), "error")
}

func TestSilences(t *testing.T) {
	c, _ := asking(line(8205, entry{kind: asked, text: `"r"`}), line(20000, entry{kind: taken}), response(21000, "", 0))
	if got := silences(c, nil); got != 8*time.Second {
		t.Errorf("%s, want the time from the answer to the next question", got)
	}
	if got := silences(c, []loss{{at: at(5205)}}); got != 3*time.Second {
		t.Errorf("%s, want the time since the loss", got)
	}
	if got := silences(c, []loss{{at: at(5205), until: at(7205)}}); got != time.Second {
		t.Errorf("%s, want the time since replicas ran again", got)
	}
	if got := silences(c, []loss{{at: at(5205), until: at(9205)}}); got != time.Second {
		t.Errorf("%s, want the time from the answer to the response", got)
	}
}

func TestAnswersAndResumesElsewhere(t *testing.T) {
	c, runs := asking(line(300, entry{kind: resuming}), line(310, entry{kind: opened, by: "3.1"}), line(320, entry{kind: opened, by: "3.1"}))
	if n, m := answersElsewhere(c, runs), resumesElsewhere(c); n != 1 || m != 1 {
		t.Errorf("%d answers and %d resumes elsewhere, want one of each", n, m)
	}
	runs[0].by = "2.1"
	if n := answersElsewhere(c, runs); n != 0 {
		t.Errorf("%d answers elsewhere, all went to who asked", n)
	}
}

// What Redis itself keeps waiting is judged as when it is away; what does not overlap that, is not.
func TestStallsExcuse(t *testing.T) {
	e := &evidence{stalls: []stall{{at(1000), at(1500)}}}
	for name, x := range map[string]struct {
		call *call
		want bool
	}{
		"during it":     {&call{entries: []entry{line(1200, entry{}), line(1300, entry{})}}, true},
		"soon after it": {&call{entries: []entry{line(3000, entry{}), line(4000, entry{})}}, true},
		"before it":     {&call{entries: []entry{line(0, entry{}), line(900, entry{})}}, false},
		"long after it": {&call{entries: []entry{line(4000, entry{}), line(5000, entry{})}}, false},
	} {
		if got := e.rulesOf(x.call).unavailable; got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	c, runs := asking(response(9000, "", 0))
	if got := silences(c, lossesOf(c, runs, e.happened())); got != 7500*time.Millisecond {
		t.Errorf("silent for %s after the stall", got)
	}
}

func TestBookings(t *testing.T) {
	c, _ := asking(response(500, "", 0))
	l := newLedger()
	judged := func(rules rules) *check {
		r := &report{}
		r.bookings(&evidence{clients: []*client{{calls: []*call{c}}}, ledger: l, rules: rules})
		return r.checks[0]
	}
	if len(judged(rules{}).misses) != 1 {
		t.Error("told as booked, and nothing was")
	}
	l.book(c.tag)
	if len(judged(rules{}).misses) != 0 {
		t.Error("booked once and told so")
	}
	l.book("1-1-2") // the same trip, sent again
	if len(judged(rules{}).misses) != 1 || len(judged(rules{rollback: true}).misses) != 0 {
		t.Error("booked twice")
	}
}

func TestLeastScales(t *testing.T) {
	l := least{losses: 20, takeovers: 20, answers: 1}
	if got := l.over(20 * time.Second); got != (least{losses: 7, takeovers: 7, answers: 1}) {
		t.Errorf("%+v in 20 s", got)
	}
	if got := l.over(5 * time.Minute); got != l {
		t.Errorf("%+v in 5 min", got)
	}
}

func TestEvents(t *testing.T) {
	var all []event
	err := events(strings.NewReader("id: a\nretry: 1500\n\n: comment\n\nid: b\ndata: {\"x\":\ndata: 1}\n\nid: c\ndata: cut"), func(e event) { all = append(all, e) })
	if err == nil {
		t.Error("an event without its end is a whole stream")
	}
	want := []event{{id: "a", retry: 1500 * time.Millisecond}, {id: "b", data: `{"x":1}`}}
	if len(all) != 2 || all[0] != want[0] || all[1] != want[1] {
		t.Errorf("events %+v, want %+v", all, want)
	}
}

// A task with checkpoints may fail only if its replica was lost before the first one can have been stored.
func TestCheckpointsTakeAWhile(t *testing.T) {
	mine, other := loss{at: at(1000), by: "1.1"}, loss{at: at(1000), by: "2.1"}
	for name, c := range map[string]struct {
		sent   time.Time
		lost   loss
		stalls []stall
		want   bool
	}{
		"none was sent":           {time.Time{}, mine, nil, true},
		"just sent":               {at(900), mine, nil, true},
		"stored":                  {at(400), mine, nil, false},
		"stored before a stall":   {at(200), mine, []stall{{from: at(1100), to: at(1900)}}, false},
		"Redis did not answer":    {at(400), mine, []stall{{from: at(500), to: at(1100)}}, true},
		"another was lost":        {at(900), other, nil, false},
		"sent after the loss":     {at(1100), mine, nil, true},
		"stored, another stalled": {at(400), mine, []stall{{from: at(100), to: at(300)}}, false},
	} {
		e := &evidence{ledger: newLedger(), stalls: c.stalls, rules: rules{unknown: true}}
		if e.ledger.kept["t"] = c.sent; c.sent.IsZero() {
			delete(e.ledger.kept, "t")
		}
		task := &held{tag: "t", tool: "task_steps", code: codeUnknownOutcome}
		if got := task.beforeCheckpoint([]*run{{by: "1.1"}}, []loss{c.lost}, e); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if !task.beforeCheckpoint(nil, []loss{c.lost}, e) {
			t.Errorf("%s: a task that no backend was called for had a checkpoint", name)
		}
	}
}
