package telemetry

import (
	"errors"
	"testing"
	"time"
)

func TestRepeated(t *testing.T) {
	var f Repeated
	at := time.Unix(1000, 0)
	for i, c := range []struct {
		err   string
		after time.Duration
		want  bool
	}{
		{"reset, port 1", 0, true},
		{"reset, port 22", time.Second, false},
		{"wrong password", time.Second, true},
		{"reset, port 1", time.Second, false},
		{"wrong password", time.Second, false},
		{"reset, port 1", 57 * time.Second, true},
		{"wrong password", 0, false},
		{"reset, port 1", 59 * time.Second, false},
	} {
		at = at.Add(c.after)
		if got := f.Failed(errors.New(c.err), at); got != c.want {
			t.Errorf("%d: %q is logged: %t", i, c.err, got)
		}
	}
	if !f.Ended() || f.Ended() {
		t.Error("it did not end once")
	}
	if !f.Failed(errors.New("wrong password"), at) {
		t.Error("what failed again is not logged")
	}
}
