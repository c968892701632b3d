package external

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/edge/mcp"
	envoyv1 "github.com/mcpedge/mcpedge/gen/mcpedge/envoy/v1"
	"github.com/mcpedge/mcpedge/internal/grpcconn"
)

// Options of a Client.
type Options struct {
	// Target is any gRPC target.
	Target string
	// Credentials of the connection; nil means plaintext.
	Credentials credentials.TransportCredentials
	// Timeout bounds a request, including the time to connect; 0 or less means DefaultTimeout.
	Timeout time.Duration
	// Open allows a request if the server fails. Otherwise it is denied.
	Open bool
	// MaxParams bounds the params that are sent to the server, in bytes of JSON; 0 or less means
	// DefaultMaxParams.
	MaxParams int
	// AskOmitted asks the server about requests of whose params it receives a part, with
	// ParamsOmitted. Otherwise they are denied.
	AskOmitted bool
	// Tracing adds the connection to traces; nil disables tracing.
	Tracing func(grpc.ClientConnInterface) grpc.ClientConnInterface
	// Logger logs when the server begins to fail, and when it recovers; nil uses slog.Default().
	Logger *slog.Logger
}

// DefaultTimeout is the default of Options.Timeout.
const DefaultTimeout = 200 * time.Millisecond

// method is the RPC of Envoy's protocol.
const method = "/envoy.service.auth.v3.Authorization/Check"

// maxResponse bounds the size of a response. Only the reason of a denial is read from it.
const maxResponse = 256 << 10

// ErrClosed means that the Client was closed before it sent the request.
var ErrClosed = errors.New("the connection to the policy server is closed")

// Outcome is the result of a request to the server.
type Outcome int

// The outcomes.
const (
	// Allowed by the server.
	Allowed Outcome = iota
	// Denied by the server.
	Denied
	// Failed means that the server did not decide, or not in time.
	Failed
	// Omitted means that the server was not asked, because the params exceed MaxParams or cannot be
	// represented.
	Omitted
	// Outcomes is the number of outcomes.
	Outcomes
)

// String returns the outcome as named in metrics.
func (o Outcome) String() string { return [...]string{"allowed", "denied", "failed", "omitted"}[o] }

// Answer is the decision on a request.
type Answer struct {
	Outcome Outcome
	// Allow permits the request. For Failed it is Options.Open.
	Allow bool
	// Reason of a denial, as the server gave it, for the caller: at most MaxReason characters
	// without control characters; empty if it gave none. For Omitted it describes what could not be
	// sent.
	Reason string
}

// Client sends requests to one policy server. Use New to create one. Safe for concurrent use.
type Client struct {
	o      Options
	conn   *grpcconn.Conn
	checks grpc.ClientConnInterface
	log    *slog.Logger
	outage grpcconn.Outage
}

// New returns a Client, which connects when it is first used. The caller closes it.
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
	conn, err := grpcconn.New(o.Target, o.Credentials, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponse)))
	if err != nil {
		return nil, err
	}
	return &Client{
		o: o, conn: conn, checks: conn.Traced(o.Tracing),
		log: o.Logger.With("target", o.Target, "timeout", o.Timeout),
	}, nil
}

// Start connects, so that the first request need not.
func (c *Client) Start() { c.conn.Start() }

// Close refuses new requests, and closes the connection after the running ones, which their timeout
// bounds. It does not wait for them.
func (c *Client) Close() { c.conn.Close() }

// Ask authorizes a request. It returns when the server has answered, after the timeout, or when ctx
// ends. The error is ErrClosed, or a *mcp.Error: the request was cancelled, or cannot be
// represented for the server. The latter is refused regardless of Options.Open, so that a caller
// cannot get a request allowed by making it unrepresentable.
func (c *Client) Ask(ctx context.Context, call *mcp.Call) (Answer, error) {
	req, omitted, err := request(call, c.o.MaxParams)
	if err != nil {
		return Answer{}, mcp.Errorf(mcp.KindInvalidParams, "params cannot be sent to the policy server: %w", err)
	}
	if omitted != "" && !c.o.AskOmitted {
		return Answer{Outcome: Omitted, Reason: omitted}, nil
	}
	if !c.conn.Acquire() {
		return Answer{}, ErrClosed
	}
	defer c.conn.Release()
	bounded, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	resp := &envoyv1.CheckResponse{}
	err = c.checks.Invoke(bounded, method, req, resp, grpc.StaticMethod())
	switch {
	case err != nil && ctx.Err() != nil:
		return Answer{}, mcp.Errorf(mcp.KindCancelled, "the request ended before its policy server had answered: %w", context.Cause(ctx))
	case err == nil && resp.GetStatus() == nil && resp.GetHttpResponse() == nil:
		err = errors.New("its answer has no status: the server must set CheckResponse.status, to OK where it allows")
	case err == nil && resp.GetErrorResponse() != nil:
		err = errors.New("its answer is an error response: the server has not decided")
	}
	if err != nil {
		c.failed(err)
		return Answer{Outcome: Failed, Allow: c.o.Open}, nil
	}
	if c.outage.Answered() {
		c.log.Info("the policy server is available again")
	}
	if resp.GetStatus().GetCode() == int32(codes.OK) && resp.GetDeniedResponse() == nil {
		return Answer{Outcome: Allowed, Allow: true}, nil
	}
	return Answer{Outcome: Denied, Reason: reason(resp)}, nil
}

// failed logs a failure, unless another was logged a short time ago.
func (c *Client) failed(err error) {
	if !c.outage.Failed() {
		return
	}
	follows := "denied"
	if c.o.Open {
		follows = "allowed"
	}
	c.log.Error("the policy server is unavailable: until it recovers, requests that it would authorize are "+follows+", by policy.external.on-failure", "error", err)
}
