package main

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state/medium"
)

func TestChoose(t *testing.T) {
	for only, want := range map[string]string{
		"bodies-http":            "bodies-http1 bodies-http2",
		"redis-dead,schema-self": "schema-self redis-dead",
		"schema-self,schema-se":  "schema-self",
	} {
		chosen, err := choose(only)
		var names []string
		for _, a := range chosen {
			names = append(names, a.name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("-only %s chooses %q, %v, want %q", only, got, err, want)
		}
	}
	if _, err := choose("bodies,nothing"); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("-only with a name that no attack has: %v", err)
	}
	all, err := choose("")
	if err != nil || len(all) != len(attacks) {
		t.Errorf("without -only there are %d attacks of %d, %v", len(all), len(attacks), err)
	}
}

// TestNames: a name chooses one attack, and no attack lacks what it does.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range attacks {
		if a.name == "" || a.what == "" || a.run == nil || seen[a.name] {
			t.Errorf("attack %q: its name is not its own, or something is missing", a.name)
		}
		seen[a.name] = true
	}
}

func TestMetric(t *testing.T) {
	const text = "# TYPE a gauge\na{x=\"1\"} 2\na{x=\"2\"} 3\nab 7\nb 1.5e+01\n"
	for name, want := range map[string]int{"a": 5, "ab": 7, "b": 15} {
		if got, err := metric(text, name); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", name, got, err, want)
		}
	}
	if _, err := metric(text, "c"); err == nil {
		t.Error("a metric that is not there is found")
	}
}

func TestFiguresWithin(t *testing.T) {
	fresh := figures{files: 10, goroutines: 100, sessions: 5, live: 1 << 20}
	if err := (figures{files: 10 + moreFiles, goroutines: 100 + moreGoroutines, sessions: 5, live: 1<<20 + moreLive}).within(fresh); err != nil {
		t.Error(err)
	}
	for want, f := range map[string]figures{
		"open files": {files: 11 + moreFiles}, "goroutines": {goroutines: 101 + moreGoroutines},
		"sessions": {sessions: 6}, "live memory": {live: 1<<20 + moreLive + 1},
	} {
		if err := f.within(fresh); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
}

// TestForge: among the forgeries of an event id are ids that the edge can read, other than the true one.
func TestForge(t *testing.T) {
	event := medium.Position{Epoch: 1, Seq: 3}.EventID("ABCD")
	readable, highest := 0, uint64(0)
	for _, f := range forge(event) {
		if _, p, err := medium.ParseEventID(f); err == nil && f != event {
			readable++
			highest = max(highest, uint64(p.Epoch))
		}
	}
	if readable < 5 || highest < medium.MaxPosition-1 {
		t.Errorf("%d forgeries can be read, the highest epoch is %d", readable, highest)
	}
}

// TestRefusedFor: a kind of token that is refused for another reason than its own is told.
func TestRefusedFor(t *testing.T) {
	before, after, sent := map[string]int{}, map[string]int{}, make([]int, len(bogusKinds))
	for k, kind := range bogusKinds {
		sent[k] = 3
		before[kind.reasons[0]] = 7
	}
	for reason, n := range before {
		after[reason] = n
	}
	for _, kind := range bogusKinds {
		after[kind.reasons[len(kind.reasons)-1]] += 3 // of several reasons, any
	}
	if err := refusedFor(sent, before, after); err != nil {
		t.Error(err)
	}
	after["expired"]--
	after["audience"]++
	err := refusedFor(sent, before, after)
	for _, want := range []string{`2 requests were refused for the reasons "expired", want 3`, `4 requests were refused for the reasons "audience", want 3`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestBogusKinds: what a kind makes is a header, and a proof where the scheme wants one.
func TestBogusKinds(t *testing.T) {
	l, err := newLock()
	if err != nil {
		t.Fatal(err)
	}
	defer l.stop()
	f, err := newForger(l, "http://127.0.0.1:1/mcp")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range bogusKinds {
		authorization, proof := kind.make(f)
		if authorization == "" || strings.HasPrefix(authorization, "DPoP ") != (proof != "") {
			t.Errorf("%s: %.60q with the proof %.60q", kind.name, authorization, proof)
		}
	}
}
