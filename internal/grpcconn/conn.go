// Package grpcconn has connections to servers that the edge asks about requests. Settings name them, and a change of settings replaces
// them while they are in use.
package grpcconn

import (
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// The pause after a failed connection attempt grows from the first to the last of these.
const (
	reconnectMin = 100 * time.Millisecond
	reconnectMax = 2 * time.Second
)

// keepAliveTime is the interval of keepalive pings, longer than the 5 minutes that gRPC servers require by default. keepAliveTimeout also
// bounds how long sent bytes may remain unacknowledged, so that a connection to a lost host is closed.
const (
	keepAliveTime    = 6 * time.Minute
	keepAliveTimeout = 20 * time.Second
)

// Conn is a connection that closes after its last user. Use New to create one. Safe for concurrent use.
type Conn struct {
	conn *grpc.ClientConn

	mu     sync.Mutex
	users  int
	closed bool
}

// New returns a Conn to a gRPC target, which connects when it is first used, and sends each message once. nil credentials mean plaintext.
// The caller closes it.
func New(target string, creds credentials.TransportCredentials, options ...grpc.DialOption) (*Conn, error) {
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		grpc.WithDisableServiceConfig(), // DNS is asked for addresses only, and cannot replace the config above
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepAliveTime, Timeout: keepAliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectMin, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMax},
			MinConnectTimeout: reconnectMax,
		}),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("target %q is not a gRPC target: %w", target, err)
	}
	return &Conn{conn: conn}, nil
}

// Traced returns the connection for stubs, added to traces by tracing; nil adds nothing.
func (c *Conn) Traced(tracing func(grpc.ClientConnInterface) grpc.ClientConnInterface) grpc.ClientConnInterface {
	if tracing == nil {
		return c.conn
	}
	return tracing(c.conn)
}

// Start connects, so that the first message need not.
func (c *Conn) Start() { c.conn.Connect() }

// Acquire keeps the connection open until Release. It returns false if it is closed.
func (c *Conn) Acquire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.users++
	}
	return !c.closed
}

// Release ends one Acquire that returned true.
func (c *Conn) Release() {
	c.mu.Lock()
	c.users--
	last := c.closed && c.users == 0
	c.mu.Unlock()
	if last {
		_ = c.conn.Close() // an error says that it is closed
	}
}

// Close refuses new users, and closes the connection after the last Release. It does not wait for that.
func (c *Conn) Close() {
	c.mu.Lock()
	c.closed = true
	idle := c.users == 0
	c.mu.Unlock()
	if idle {
		_ = c.conn.Close()
	}
}
