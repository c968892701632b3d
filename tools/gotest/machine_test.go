package main

import (
	"strings"
	"testing"
)

func TestSetOfTheMachine(t *testing.T) {
	module(t, map[string]string{
		"home":  "func TestHome(t *testing.T) { os.Getenv(\"HOME\") }\n\nfunc TestOther(t *testing.T) {}",
		"other": "func TestOther(t *testing.T) {}",
		"plain": "func TestChmod(t *testing.T) { os.Chmod(\"x\", 0) }",
	})
	for _, c := range []struct{ set, args, want, printed, fails string }{
		{"", "-race ./...", "-race ./...", "", ""},
		{"machine", "-count=1 -timeout=1m ./...", "-run=^(TestChmod|TestHome)$ -count=1 -timeout=1m ./home ./plain", "2 in 2 packages", ""},
		{"machine", "-race ./home ./other -args -redis ./x", "-run=^(TestHome)$ -race ./home -args -redis ./x", "1 in 1 packages", ""},
		{"machine", "-run=TestHome ./...", "", "", "unset it"},
		{"machine", "./other", "", "", "none of ./other"},
		{"machine", "./none", "", "", "go list ./none"},
		{"all", "./...", "", "", "no set of tests has this name"},
	} {
		t.Setenv(envSet, c.set)
		var out strings.Builder
		args, err := onMachine(strings.Fields(c.args), &out)
		if got := strings.Join(args, " "); got != c.want || !strings.Contains(out.String(), c.printed) {
			t.Errorf("%s %s: %s, want %s; printed %q", c.set, c.args, got, c.want, out.String())
		}
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s %s: %v, want %q", c.set, c.args, err, c.fails)
		}
	}
}
