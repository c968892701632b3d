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

// source has the keys of one issuer. They are fetched at start, then every refreshKeys, and when a
// token names an unknown key, at most once in refetchInterval. If they cannot be fetched, the last keys
// stay in force for keepKeys. Keys from a file stay in force until the file has others. An empty
// set is accepted: then no token of the issuer is valid. It is safe for concurrent use.
type source struct {
	issuer string
	// jwks is the URL of the keys. Empty discovers it.
	jwks string
	// read reads the file of the keys. nil fetches them.
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
	// running is the fetch in progress, or nil.
	running *fetch
	// failing is true if the last attempt failed. logged decides which failures are logged. retry is
	// the time of the next attempt.
	failing bool
	logged  fault
	retry   time.Time
	// discovered is the URL that was discovered last.
	discovered string
}

// loadedKeys are keys as read at one time.
type loadedKeys struct {
	set *keySet
	at  time.Time
}

// fetch is one attempt, shared by all that wait for it.
type fetch struct {
	done chan struct{}
	err  error // once done is closed
}

// start starts fetching. It returns at once; its goroutines end with ctx.
func (s *source) start(ctx context.Context, work *sync.WaitGroup) {
	s.mu.Lock()
	s.life = ctx
	first := s.begin() // so that callers wait for it from now on
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

// begin returns the fetch in progress, or starts one. The caller holds s.mu.
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
		ctx, cancel := context.WithTimeout(life, 2*fetchTimeout) // with discovery there are several requests
		defer cancel()
		f.err = s.load(ctx)
		s.mu.Lock()
		s.running = nil
		s.mu.Unlock()
		close(f.done)
	}()
	return f
}

// ask fetches the keys because of an unknown key. If that was done recently, it returns false at
// once.
func (s *source) ask(ctx context.Context) bool {
	s.mu.Lock()
	if s.running == nil {
		if now := time.Now(); !s.asked.IsZero() && now.Sub(s.asked) < refetchInterval {
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

// load reads the keys and makes them current.
func (s *source) load(ctx context.Context) error {
	at := time.Now()
	set, err := s.readSet(ctx)
	if s.read == nil {
		if err != nil {
			s.failed.Add(1)
		} else {
			s.fetched.Add(1)
		}
	}
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return err // the caller has stopped
	}
	s.mu.Lock()
	s.failing = err != nil
	began, ended := s.logged.note(s.cause(err))
	s.mu.Unlock()
	switch {
	case began:
		s.log.Warn("the keys of an issuer cannot be read; the current ones stay in force for a limited time", "issuer", s.issuer, "error", err)
	case ended:
		s.log.Info("the keys of an issuer can be read again", "issuer", s.issuer, "keys", len(set.keys))
	}
	if err != nil {
		return err
	}
	before := s.current.Swap(&loadedKeys{set, at})
	if set.exposed > 0 && (before == nil || before.set.exposed == 0) {
		s.log.Warn("an issuer has published private keys: tokens that are signed with them are refused", "issuer", s.issuer, "error", set.exposure())
	}
	if had := before == nil || len(before.set.keys) > 0; had && len(set.keys) == 0 {
		s.log.Warn("an issuer has no keys for signatures: none of its tokens is accepted until it has some", "issuer", s.issuer)
	} else if !had && len(set.keys) > 0 {
		s.log.Info("an issuer has keys for signatures again", "issuer", s.issuer, "keys", len(set.keys))
	}
	return nil
}

// errFetch is the error for every failure to fetch keys.
var errFetch = errors.New("the keys cannot be fetched")

// cause returns the error that distinguishes failures in the log. Failures to fetch are one,
// because their texts differ at each attempt.
func (s *source) cause(err error) error {
	if err != nil && s.read == nil {
		return errFetch
	}
	return err
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

// where returns the URL of the keys. If the issuer's metadata cannot be read, it is the one found
// before.
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

// keys returns the current keys, or nil if there are no usable ones. It waits for a first fetch in
// progress.
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
		// If no fetch is running, one may have ended since the first check: it stores its keys
		// before it ends.
		if l = s.current.Load(); l == nil {
			return nil
		}
	}
	if s.read == nil && time.Since(l.at) > keepKeys {
		return nil
	}
	return l.set
}

// retryDelay returns the delay before a retry while there are no keys.
func (s *source) retryDelay() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(max(time.Until(s.retry), time.Second), retryMax)
}

// age returns the age of the current keys. It returns false if there are none.
func (s *source) age() (time.Duration, bool) {
	l := s.current.Load()
	if l == nil {
		return 0, false
	}
	return time.Since(l.at), true
}

// stale reports whether the last attempt to read the keys failed.
func (s *source) stale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}
