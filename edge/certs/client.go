package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
)

// client is the client side of TLS connections to a backend.
type client struct {
	source     *Source
	serverName string
	plain      *derived[credentials.TransportCredentials]
}

var _ credentials.TransportCredentials = (*client)(nil)

// Client returns the credentials of connections to a backend, with TLS 1.2 or later. Each handshake
// uses the material that is current when it begins. Without Files.CA the system's roots verify the
// backend. serverName overrides the name in the backend's certificate. Empty uses the host of the
// connection's authority. Errors of a handshake say what to do.
func (s *Source) Client(serverName string) credentials.TransportCredentials {
	c := &client{source: s, serverName: serverName}
	c.plain = &derived[credentials.TransportCredentials]{source: s, make: func(m *Material) credentials.TransportCredentials {
		conf := &tls.Config{ServerName: serverName, MinVersion: tls.VersionTLS12, RootCAs: m.roots}
		if m.Certificate != nil {
			conf.Certificates = []tls.Certificate{*m.Certificate}
		}
		return credentials.NewTLS(conf)
	}}
	return c
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *client) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := c.plain.get().ClientHandshake(ctx, authority, conn)
	if err != nil {
		return nil, nil, c.source.files.explain(err)
	}
	return &unconfirmedConn{Conn: secured, files: c.source.files}, info, nil
}

// ServerHandshake implements credentials.TransportCredentials.
func (c *client) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these credentials are for connections to a backend")
}

// Info implements credentials.TransportCredentials.
func (c *client) Info() credentials.ProtocolInfo { return c.plain.get().Info() }

// Clone implements credentials.TransportCredentials.
func (c *client) Clone() credentials.TransportCredentials { return c.source.Client(c.serverName) }

// OverrideServerName implements credentials.TransportCredentials.
//
// Deprecated: gRPC does not call it. Pass the name to Source.Client.
func (c *client) OverrideServerName(name string) error {
	*c = *c.source.Client(name).(*client)
	return nil
}

// unconfirmedConn is a connection whose peer may still reject this endpoint's certificate: TLS 1.3
// reports that at the first Read, and a Write may fail before it.
type unconfirmedConn struct {
	net.Conn
	files Files
	// received is true once the peer has sent something.
	received atomic.Bool
}

// Read implements net.Conn.
func (j *unconfirmedConn) Read(p []byte) (int, error) {
	n, err := j.Conn.Read(p)
	switch {
	case n > 0:
		if !j.received.Load() {
			j.received.Store(true)
		}
	case refused(err):
		err = j.files.explain(err)
	}
	return n, err
}

// Write implements net.Conn.
func (j *unconfirmedConn) Write(p []byte) (int, error) {
	n, err := j.Conn.Write(p)
	if err == nil || j.received.Load() {
		return n, err
	}
	// does not block: the connection is broken
	if _, why := j.Conn.Read(make([]byte, 1)); refused(why) {
		return n, j.files.explain(why)
	}
	return n, fmt.Errorf("%w: the backend closed the connection after the handshake: if it asks for a certificate, check %s", err, j.files.setting(certFile))
}
