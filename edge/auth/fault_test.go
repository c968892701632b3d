package auth_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// watchedFile is a file whose content can be broken.
type watchedFile struct {
	mu    sync.Mutex
	wrong error
}

func (f *watchedFile) set(wrong error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrong = wrong
}

func (f *watchedFile) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wrong
}

// Each other mistake in a file of keys is logged once, and so is the end of the last one.
func TestEachMistakeInAFileIsLogged(t *testing.T) {
	const forKeys, forIssuer = "the API keys cannot be read", "the keys of an issuer cannot be read"
	var log bytes.Buffer // read while the other goroutines wait
	keys, jwks := &watchedFile{}, &watchedFile{}
	o := options(issuer.New("https://id.example"))
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	o.ReadAPIKeys = func() ([]auth.APIKey, error) { return nil, keys.get() }
	read := o.Issuers[0].ReadKeys
	o.Issuers[0].ReadKeys = func() ([]byte, error) {
		if err := jwks.get(); err != nil {
			return nil, err
		}
		return read()
	}
	synctestRun(t, o, func(*auth.Authenticator) {
		wait := func(wrong error) {
			keys.set(wrong)
			jwks.set(wrong)
			time.Sleep(time.Minute) // of the test's clock
			synctest.Wait()
		}
		for i, text := range []string{"mistake one", "mistake two", "mistake one"} {
			wait(errors.New(text))
			for _, what := range []string{forKeys, forIssuer} {
				if n := strings.Count(log.String(), what); n != i+1 {
					t.Errorf("%s %d times, want %d:\n%s", what, n, i+1, &log)
				}
			}
		}
		wait(nil)
		if n := strings.Count(log.String(), "can be read again"); n != 2 {
			t.Errorf("the end is logged %d times:\n%s", n, &log)
		}
	})
}
