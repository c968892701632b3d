package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// source has the keys of one issuer. They are fetched when it starts, then every refreshKeys, and when a token names a
// key that is not among them, at most once in askAgain. If they cannot be fetched those that there are serve on for
// keepKeys. Keys from a file serve until it has others. A set without keys is believed: no token of the issuer counts
// then. Safe for concurrent use.
type source struct {
	issuer string
	// jwks is the URL of the keys; empty: it is discovered.
	jwks string
	// read reads the file of the keys; nil: they are fetched.
	read   func() ([]byte, error)
	client *http.Client
	log    *slog.Logger
	// fetched and failed count attempts to fetch the keys.
	fetched, failed atomic.Int64

	current atomic.Pointer[loadedKeys]

	mu sync.Mutex
	// life ends fetches.
	life context.Context
	// asked is when an unknown key last caused a fetch.
	asked time.Time
	// running is the fetch that has not ended; nil: none.
	running *fetch
	// failing: the last attempt failed, and the log says so. retry is when the next one is due.
	failing bool
	retry   time.Time
	// discovered is the URL that was found last.
	discovered string
}

// loadedKeys are keys as they were read once.
type loadedKeys struct {
	set *keySet
	at  time.Time
}

// fetch is one attempt, for everybody who waits for it.
type fetch struct {
	done chan struct{}
	err  error // once done is closed
}

// start begins to fetch. It returns at once; what it began ends with ctx.
func (s *source) start(ctx context.Context, work *sync.WaitGroup) {
	s.mu.Lock()
	s.life = ctx
	first := s.begin() // so that whoever comes now waits for it
	s.mu.Unlock()
	work.Go(func() { s.keepFresh(ctx, first) })
}

func (s *source) keepFresh(ctx context.Context, f *fetch) {
	pause := retryMin
	for {
		next := refreshKeys
		if s.read != nil {
			next = refreshFiles
		}
		<-f.done // ctx ends it
		if f.err != nil && s.read == nil {
			next = pause
			pause = min(2*pause, retryMax)
		} else {
			pause = retryMin
		}
		s.mu.Lock()
		s.retry = time.Now().Add(next)
		s.mu.Unlock()
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		f = s.begin()
		s.mu.Unlock()
	}
}

// begin returns the fetch that runs, begun if there was none. s.mu is locked.
func (s *source) begin() *fetch {
	if s.running != nil {
		return s.running
	}
	f := &fetch{done: make(chan struct{})}
	s.running = f
	life := s.life
	if life == nil {
		life = context.Background()
	}
	go func() {
		ctx, cancel := context.WithTimeout(life, 2*fetchTimeout) // with discovery it is more than one request
		defer cancel()
		f.err = s.load(ctx)
		s.mu.Lock()
		s.running = nil
		s.mu.Unlock()
		close(f.done)
	}()
	return f
}

// ask fetches the keys because of one that is not among them, unless that was done a moment ago: then it returns false
// at once.
func (s *source) ask(ctx context.Context) bool {
	s.mu.Lock()
	if s.running == nil {
		if now := time.Now(); !s.asked.IsZero() && now.Sub(s.asked) < askAgain {
			s.mu.Unlock()
			return false
		}
		s.asked = time.Now()
	}
	f := s.begin()
	s.mu.Unlock()
	select {
	case <-f.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// load reads the keys and makes them the current ones.
func (s *source) load(ctx context.Context) error {
	began := time.Now()
	set, err := s.readSet(ctx)
	if s.read == nil {
		if err != nil {
			s.failed.Add(1)
		} else {
			s.fetched.Add(1)
		}
	}
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return err // nobody wants to know any more
	}
	s.mu.Lock()
	was := s.failing
	s.failing = err != nil
	s.mu.Unlock()
	switch {
	case err != nil && !was:
		s.log.Warn("the keys of an issuer cannot be read; those that there are serve on for a while", "issuer", s.issuer, "error", err)
	case err == nil && was:
		s.log.Info("the keys of an issuer can be read again", "issuer", s.issuer, "keys", len(set.keys))
	}
	if err != nil {
		return err
	}
	before := s.current.Swap(&loadedKeys{set, began})
	if had := before == nil || len(before.set.keys) > 0; had && len(set.keys) == 0 {
		s.log.Warn("an issuer has no keys for signatures: none of its tokens is accepted until it has some", "issuer", s.issuer)
	} else if !had && len(set.keys) > 0 {
		s.log.Info("an issuer has keys for signatures again", "issuer", s.issuer, "keys", len(set.keys))
	}
	return nil
}

func (s *source) readSet(ctx context.Context) (*keySet, error) {
	if s.read != nil {
		raw, err := s.read()
		if err != nil {
			return nil, err
		}
		return parseKeys(raw)
	}
	from, err := s.where(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := get(ctx, s.client, from)
	if err != nil {
		return nil, err
	}
	set, err := parseKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return set, nil
}

// where is the URL of the keys. If the issuer's metadata cannot be read it is the one that was found before.
func (s *source) where(ctx context.Context) (string, error) {
	if s.jwks != "" {
		return s.jwks, nil
	}
	found, err := discover(ctx, s.client, s.issuer)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.discovered = found
	case s.discovered == "":
		return "", err
	}
	return s.discovered, nil
}

// keys are the current keys; nil: there are none, or none that may still be used. Who comes first waits for the fetch
// that runs.
func (s *source) keys(ctx context.Context) *keySet {
	l := s.current.Load()
	if l == nil {
		s.mu.Lock()
		f := s.running
		s.mu.Unlock()
		if f != nil {
			select {
			case <-f.done:
			case <-ctx.Done():
			}
		}
		// Without a running fetch one may have ended since the first look: it stores its keys before it ends.
		if l = s.current.Load(); l == nil {
			return nil
		}
	}
	if s.read == nil && time.Since(l.at) > keepKeys {
		return nil
	}
	return l.set
}

// again is when to try again while there are no keys.
func (s *source) again() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(max(time.Until(s.retry), time.Second), retryMax)
}

// age is how old the current keys are; false: there are none.
func (s *source) age() (time.Duration, bool) {
	l := s.current.Load()
	if l == nil {
		return 0, false
	}
	return time.Since(l.at), true
}

// stale says whether the last attempt to read the keys failed.
func (s *source) stale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}
