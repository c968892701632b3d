package certs

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Source has the material of one end of TLS, as its files have it. Make it with Open. Safe for concurrent use.
type Source struct {
	files Files
	log   *slog.Logger

	current   atomic.Pointer[Material]
	exchanges atomic.Int64
	// failure is why the files, as they are now, are not in use; nil: they are.
	failure atomic.Pointer[string]

	mu sync.Mutex
	// taken is what the files held from which current was made, last what they held when they were read last.
	taken, last contents
}

// A key is written after its certificate, or the other way round: at the start files that are there and cannot be used
// are read so many times, so far apart.
const (
	openTries = 5
	openPause = 100 * time.Millisecond
)

// Open reads the files of an end. An error names the file, what is wrong with it and what to do. What has expired is
// used, and logged. log is told of exchanges; nil: slog.Default.
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
				log.Error("TLS begins with a certificate that nobody accepts", "tls", f.Name, "error", err)
			}
			return s, nil
		case try == openTries || s.taken.readable(f) != nil:
			return nil, err
		}
		time.Sleep(openPause)
	}
}

// Name is that of Files.
func (s *Source) Name() string { return s.files.Name }

// Material is what is used for a handshake that begins now.
func (s *Source) Material() *Material { return s.current.Load() }

// Exchanges is how often other material was taken into use.
func (s *Source) Exchanges() int64 { return s.exchanges.Load() }

// Failure says why the files, as they are now, cannot be used, so that those read before are; empty: they are used.
func (s *Source) Failure() string {
	if why := s.failure.Load(); why != nil {
		return *why
	}
	return ""
}

// Expiries are when the material in use expires.
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

// refresh reads the files, and takes what has changed into use. Files are written one after the other, and some while
// they are read: what cannot be used is a failure when two readings in a row came to it.
func (s *Source) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.files.read()
	settled := c.equal(s.last)
	s.last = c
	if c.equal(s.taken) {
		if s.failure.Swap(nil) != nil {
			s.log.Info("the files of TLS are again as they were read before", "tls", s.files.Name)
		}
		return
	}
	m, err := s.files.parse(c)
	if err == nil {
		err = s.worse(m)
	}
	switch {
	case err == nil:
		s.take(m, c)
	case settled && s.Failure() != err.Error():
		why := err.Error()
		s.failure.Store(&why)
		s.log.Error("the files of TLS cannot be used: those that were read before stay in use", "tls", s.files.Name, "error", why)
	}
}

// worse returns why material may not replace what is in use, which is valid: it is not.
func (s *Source) worse(m *Material) error {
	now := time.Now()
	if err := m.valid(s.files, now); err != nil && s.Material().valid(s.files, now) == nil {
		return err
	}
	return nil
}

// take puts material into use. mu is held.
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
