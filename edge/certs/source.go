package certs

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Source provides the material of one TLS endpoint from its files. Make it with Open. It is safe
// for concurrent use.
type Source struct {
	files Files
	log   *slog.Logger

	current   atomic.Pointer[Material]
	exchanges atomic.Int64
	// failure is the reason for which the current content of the files is not in use. nil means that
	// it is in use.
	failure atomic.Pointer[string]

	mu sync.Mutex
	// taken is the content of the material in use, last the content at the last read, and faulty the
	// content whose failure was logged last.
	taken, last, faulty contents
}

// At the start, unusable files are read again up to openTries times, because a certificate and its
// key are not written at the same time.
const (
	openTries = 5
	openPause = 100 * time.Millisecond
)

// Open reads the files of an endpoint. An error names the file, the fault and the remedy. Expired
// certificates are used, and logged. log receives changes. nil uses slog.Default().
func Open(f Files, log *slog.Logger) (*Source, error) {
	if log == nil {
		log = slog.Default()
	}
	s := &Source{files: f, log: log}
	for try := 1; ; try++ {
		s.taken = f.read()
		m, err := f.parse(s.taken)
		switch {
		case err == nil:
			s.last = s.taken
			s.current.Store(m)
			if err := m.valid(f, time.Now()); err != nil {
				log.Error("TLS starts with a certificate that peers reject", "tls", f.Name, "error", err)
			}
			return s, nil
		case try == openTries || s.taken.readable(f) != nil:
			return nil, err
		}
		time.Sleep(openPause)
	}
}

// Name returns Files.Name.
func (s *Source) Name() string { return s.files.Name }

// Material returns the material for a handshake that begins now.
func (s *Source) Material() *Material { return s.current.Load() }

// Exchanges returns the number of times that the material was replaced.
func (s *Source) Exchanges() int64 { return s.exchanges.Load() }

// Failure returns the reason for which the current content of the files cannot be used, so that the
// previous content stays in use. Empty means that the current content is in use.
func (s *Source) Failure() string {
	if why := s.failure.Load(); why != nil {
		return *why
	}
	return ""
}

// Expiries returns the times at which the material in use expires.
func (s *Source) Expiries() (all []Expiry) {
	m := s.Material()
	if at := m.chainEnds(); !at.IsZero() {
		all = append(all, Expiry{"cert", at})
	}
	if at := m.casEnd(); !at.IsZero() {
		all = append(all, Expiry{strings.TrimPrefix(s.files.setting(caFile), s.files.Name+"."), at})
	}
	return all
}

// refresh reads the files, and uses changed content. A file may be read while it is being written,
// so unusable content is a failure only if two consecutive reads find it.
func (s *Source) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.files.read()
	settled := c.equal(s.last)
	s.last = c
	if c.equal(s.taken) {
		if s.failure.Swap(nil) != nil {
			s.log.Info("the files of TLS again have the content in use", "tls", s.files.Name)
		}
		return
	}
	m, err := s.files.parse(c)
	if err == nil {
		err = s.checkReplacement(m)
	}
	switch {
	case err == nil:
		s.take(m, c)
	case settled && (s.Failure() != err.Error() || !c.equal(s.faulty)):
		why := err.Error()
		s.failure.Store(&why)
		s.faulty = c
		s.log.Error("the files of TLS cannot be used: those that were read before stay in use", "tls", s.files.Name, "error", why)
	}
}

// checkReplacement returns an error if the material m is invalid and the one in use is valid.
func (s *Source) checkReplacement(m *Material) error {
	now := time.Now()
	if err := m.valid(s.files, now); err != nil && s.Material().valid(s.files, now) == nil {
		return err
	}
	return nil
}

// take replaces the material in use. The caller holds s.mu.
func (s *Source) take(m *Material, c contents) {
	s.taken = c
	s.current.Store(m)
	s.exchanges.Add(1)
	s.failure.Store(nil)
	args := []any{"tls", s.files.Name}
	for _, e := range s.Expiries() {
		args = append(args, e.File+"-expires", e.At.UTC())
	}
	s.log.Info("the files of TLS have changed: new connections use them", args...)
}
