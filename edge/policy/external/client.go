package external

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Options of a Client.
type Options struct {
	// Target is any gRPC target.
	Target string
	// Credentials of the connection; nil: plaintext.
	Credentials credentials.TransportCredentials
	// Timeout bounds a question, the time to connect included; 0 or less: DefaultTimeout.
	Timeout time.Duration
	// Open allows what the server could not be asked about; else it is denied.
	Open bool
	// MaxParams bounds the params that the server is shown, in bytes of JSON; 0 or less: DefaultMaxParams.
	MaxParams int
	// AskOmitted has the server asked about params of which it is not shown all, with ParamsOmitted; else they are denied.
	AskOmitted bool
	// Tracing makes the connection part of traces; nil: it is not.
	Tracing func(grpc.ClientConnInterface) grpc.ClientConnInterface
	// Logger hears when the server cannot be asked, and when it can be again; nil: slog.Default().
	Logger *slog.Logger
}

// DefaultTimeout is that of Options.
const DefaultTimeout = 200 * time.Millisecond

// What is received is bounded: only the reason of a denial is read.
const maxResponse = 256 << 10

// After connecting has failed it is tried again at these intervals.
const (
	reconnectMin = 100 * time.Millisecond
	reconnectMax = 2 * time.Second
)

// Keepalive pings are no more frequent than every gRPC server permits by default (5 minutes); keepAliveTimeout also bounds
// how long sent bytes may go unacknowledged, so that a connection to a host that is gone is given up.
const (
	keepAliveTime    = 6 * time.Minute
	keepAliveTimeout = 20 * time.Second
)

// ErrClosed says that the Client was closed before it asked.
var ErrClosed = errors.New("the connection to the policy server is closed")

// Outcome is how a question ended.
type Outcome int

// The outcomes.
const (
	// Allowed by the server.
	Allowed Outcome = iota
	// Denied by the server.
	Denied
	// Failed: the server did not decide, in time or at all.
	Failed
	// Omitted: the server was not asked, since it could not be shown all that it would decide on.
	Omitted
	// Outcomes is how many there are.
	Outcomes
)

// String is the outcome as metrics have it.
func (o Outcome) String() string { return [...]string{"allowed", "denied", "failed", "omitted"}[o] }

// Answer is what follows from a question.
type Answer struct {
	Outcome Outcome
	// Allow: the request may be made. Of Failed it is Options.Open.
	Allow bool
	// Reason of a denial, as the server gave it, for the caller: at most MaxReason characters, none of them a control. Empty:
	// it gave none. Of Omitted it is what could not be shown.
	Reason string
}

// Client asks one server. Safe for concurrent use. Make it with New.
type Client struct {
	o      Options
	conn   *grpc.ClientConn
	checks authv3.AuthorizationClient
	health health

	mu     sync.Mutex
	open   int // questions
	closed bool
}

// New makes a Client, which connects when it is first asked. The caller closes it.
func New(o Options) (*Client, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxParams <= 0 {
		o.MaxParams = DefaultMaxParams
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Credentials == nil {
		o.Credentials = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(o.Target,
		grpc.WithTransportCredentials(o.Credentials),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		grpc.WithDisableServiceConfig(), // the one above is not replaced by DNS, which is asked for addresses alone
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponse)),
		grpc.WithIdleTimeout(0),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepAliveTime, Timeout: keepAliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectMin, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMax},
			MinConnectTimeout: reconnectMax,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("target %q is no gRPC target: %w", o.Target, err)
	}
	asked := grpc.ClientConnInterface(conn)
	if o.Tracing != nil {
		asked = o.Tracing(conn)
	}
	follows := "denied"
	if o.Open {
		follows = "allowed"
	}
	return &Client{
		o: o, conn: conn, checks: authv3.NewAuthorizationClient(asked),
		health: health{log: o.Logger.With("target", o.Target, "timeout", o.Timeout), follows: follows},
	}, nil
}

// Start connects, so that the first question need not.
func (c *Client) Start() { c.conn.Connect() }

// Close lets no more questions be asked, and closes the connection once those that are open have ended. It does not wait for
// them, which their timeout bounds.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	idle := c.open == 0
	c.mu.Unlock()
	if idle {
		_ = c.conn.Close() // an error says that it is closed
	}
}

// begin begins a question; false: the Client is closed.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.open++
	}
	return !c.closed
}

func (c *Client) end() {
	c.mu.Lock()
	c.open--
	last := c.closed && c.open == 0
	c.mu.Unlock()
	if last {
		_ = c.conn.Close()
	}
}

// Ask asks whether a request may be made. It returns when there is an answer, when the timeout is over, or when ctx ends. The
// error is ErrClosed, or a *mcp.Error: the request has ended, or cannot be described to the server, and may not be made
// whatever the Options are, so that nobody can have themselves allowed by what the server cannot be asked about.
func (c *Client) Ask(ctx context.Context, call *mcp.Call) (Answer, error) {
	req, omitted, err := request(call, c.o.MaxParams)
	if err != nil {
		return Answer{}, mcp.Errorf(mcp.KindInvalidParams, "params cannot be judged by the policy of this server: %w", err)
	}
	if omitted != "" && !c.o.AskOmitted {
		return Answer{Outcome: Omitted, Reason: omitted}, nil
	}
	if !c.begin() {
		return Answer{}, ErrClosed
	}
	defer c.end()
	bounded, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	resp, err := c.checks.Check(bounded, req)
	switch {
	case err != nil && ctx.Err() != nil:
		return Answer{}, mcp.Errorf(mcp.KindCancelled, "the request ended before its policy server had answered: %w", context.Cause(ctx))
	case err == nil && resp.GetStatus() == nil && resp.GetHttpResponse() == nil:
		err = errors.New("its answer has no status: the server must set CheckResponse.status, to OK where it allows")
	case err == nil && resp.GetErrorResponse() != nil:
		err = errors.New("its answer is an error response: the server has not decided")
	}
	if err != nil {
		c.health.failed(err)
		return Answer{Outcome: Failed, Allow: c.o.Open}, nil
	}
	c.health.answered()
	if resp.GetStatus().GetCode() == int32(codes.OK) && resp.GetDeniedResponse() == nil {
		return Answer{Outcome: Allowed, Allow: true}, nil
	}
	return Answer{Outcome: Denied, Reason: reason(resp)}, nil
}
