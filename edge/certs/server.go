package certs

import (
	"crypto/tls"
	"sync/atomic"
)

// These are the protocols of HTTP, for Source.Server (RFC 7301, section 6).
const (
	HTTP2 = "h2"
	HTTP1 = "http/1.1"
)

// derived caches a value that is computed from material, and computes it again after the material
// has changed. It is safe for concurrent use.
type derived[T any] struct {
	source *Source
	make   func(*Material) T
	last   atomic.Pointer[derivation[T]]
}

type derivation[T any] struct {
	of    *Material
	value T
}

func (d *derived[T]) get() T {
	m := d.source.Material()
	if last := d.last.Load(); last != nil && last.of == m {
		return last.value
	}
	next := &derivation[T]{m, d.make(m)}
	d.last.Store(next)
	return next.value
}

// Server returns the configuration of a listener, with TLS 1.2 or later. It offers protocols, the
// preferred one first. With Files.CA it requests certificates of clients as auth says; without
// Files.CA auth is ignored. A session is resumed only if its client certificate would be accepted
// again.
func (s *Source) Server(auth tls.ClientAuthType, protocols ...string) *tls.Config {
	configs := &derived[*tls.Config]{source: s, make: func(m *Material) *tls.Config {
		c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, Certificates: []tls.Certificate{*m.Certificate}}
		if m.roots != nil {
			c.ClientAuth, c.ClientCAs = auth, m.roots
		}
		return c
	}}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return configs.get(), nil },
	}
}
