package external

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A server that fails is logged once, and so is that it answers again; one that does both by turns is not logged each time.
func TestFailuresAreLoggedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		h := health{log: slog.New(slog.NewTextHandler(&out, nil)), follows: "denied"}
		logged := func(failed, again int) {
			t.Helper()
			f, a := strings.Count(out.String(), "cannot be asked: until it can, what it would decide on is denied"), strings.Count(out.String(), "can be asked again")
			if f != failed || a != again {
				t.Errorf("%d failures are logged and %d times that it answers, want %d and %d:\n%s", f, a, failed, again, &out)
			}
			out.Reset()
		}
		h.answered()
		logged(0, 0)
		for range 100 {
			h.failed(errors.New("down"))
		}
		logged(1, 0)
		for range 100 {
			h.answered()
			h.failed(errors.New("flapping"))
		}
		logged(0, 1)
		h.answered()
		time.Sleep(logInterval)
		h.failed(errors.New("down"))
		h.answered()
		logged(1, 1)
	})
}
