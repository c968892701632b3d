package identity

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Each other mistake in the file is logged once.
func TestBrokenAgain(t *testing.T) {
	var log bytes.Buffer
	f := &file{}
	f.set(newEd25519(t), nil)
	k, err := Open(f.read, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for i, broken := range []struct {
		raw []byte
		err error
	}{{[]byte("x"), nil}, {[]byte("y"), nil}, {nil, errors.New("gone")}} {
		f.set(broken.raw, broken.err)
		for range 4 {
			k.refresh(time.Now())
		}
		if n := strings.Count(log.String(), "is unusable"); n != i+1 {
			t.Errorf("%q: logged %d times:\n%s", broken.raw, n, &log)
		}
	}
}
