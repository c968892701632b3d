package stateless

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options are the settings of the era. The zero value of each member is its documented default.
type Options struct {
	// Keys seal request states: 32 bytes each. The first seals, all open, so that a key can be
	// rotated; replicas share them. None: a random key, good for one replica and one process.
	Keys [][]byte
	// MaxRounds bounds the rounds of one call that ask the client; 0: mcp.DefaultRounds.
	MaxRounds int
	// CallLifetime bounds a call from its first round to its last; 0: mcp.DefaultCallLifetime.
	CallLifetime time.Duration
	// StreamAfter is how long a backend has before the answer to its call becomes a stream, whose head and signs of life proxies see; 0: 1 s.
	StreamAfter time.Duration
	// KeepAlive is how long an open stream may be silent; 0: 15 s.
	KeepAlive time.Duration
	// MaxListens bounds the open subscriptions of one principal, and of all anonymous callers of this
	// replica together; 0: 20,000.
	MaxListens int
	// MaxListenBytes bounds the URIs of the open subscriptions of one principal, each with 64 bytes beside its
	// text; 0: 64 MiB.
	MaxListenBytes int
	// MaxSubscriptions bounds the resources of one subscription; 0: 1,024.
	MaxSubscriptions int
	// Telemetry observes the requests; nil: nothing does.
	Telemetry *telemetry.Telemetry
	// Logger gets what operators should know; nil: slog.Default.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.MaxRounds == 0 {
		o.MaxRounds = mcp.DefaultRounds
	}
	if o.CallLifetime == 0 {
		o.CallLifetime = mcp.DefaultCallLifetime
	}
	if o.StreamAfter == 0 {
		o.StreamAfter = time.Second
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.MaxListens == 0 {
		o.MaxListens = 20_000
	}
	if o.MaxListenBytes == 0 {
		o.MaxListenBytes = 64 << 20
	}
	if o.MaxSubscriptions == 0 {
		o.MaxSubscriptions = 1024
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Era serves the stateless era. Safe for concurrent use.
type Era struct {
	dispatch era.Dispatcher
	opts     Options
	sealer   *sealer
	listens  *listens
	draining context.Context
	drain    context.CancelFunc
	// listening counts the open subscriptions.
	listening atomic.Int64
	// expired counts those that ended with their caller's credentials.
	expired atomic.Int64
	// aborting is whether the edge ends connections (Abort), calls the number of calls that are being served.
	aborting atomic.Bool
	calls    atomic.Int64
}

var _ era.Stateless = (*Era)(nil)

// New makes the era. It fails when a key has not 32 bytes.
func New(d era.Dispatcher, o Options) (*Era, error) {
	o = o.withDefaults()
	s, err := newSealer(o.Keys)
	if err != nil {
		return nil, err
	}
	e := &Era{dispatch: d, opts: o, sealer: s, listens: newListens(o.MaxListens, o.MaxListenBytes)}
	e.draining, e.drain = context.WithCancel(context.Background())
	return e, nil
}

// SealWith is Options.Keys with one key, for who learns it after New. Call it before the first message.
func (e *Era) SealWith(key []byte) error {
	s, err := newSealer([][]byte{key})
	if err == nil {
		e.sealer = s
	}
	return err
}

// Listening is how many subscriptions are open.
func (e *Era) Listening() int64 { return e.listening.Load() }

// Expired is how many subscriptions have ended with their caller's credentials.
func (e *Era) Expired() int64 { return e.expired.Load() }

// ListenBytes is what the URIs of the open subscriptions count for Options.MaxListenBytes, of all principals
// together.
func (e *Era) ListenBytes() int64 { return e.listens.bytes.Load() }

// Drain ends every subscription with its result, so that clients subscribe again elsewhere. Calls run on.
func (e *Era) Drain() { e.drain() }

// Abort says that the edge ends connections from now on, with the calls on them: it was not their clients who cancelled them.
func (e *Era) Abort() { e.aborting.Store(true) }

// awaitInterval is the interval at which Await looks.
const awaitInterval = 5 * time.Millisecond

// Await waits until no call is being served, or ctx ends.
func (e *Era) Await(ctx context.Context) {
	t := time.NewTicker(awaitInterval)
	defer t.Stop()
	for e.calls.Load() > 0 {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// Message implements era.Stateless.
func (e *Era) Message(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	switch msg.Kind {
	case jsonrpc.Request:
		e.request(ctx, in, msg, out)
	case jsonrpc.Notification:
		// Over HTTP no notification of a client means anything: a call is cancelled by its connection.
		_, op := e.observe(ctx, in, msg, revision.Stateless(), nil)
		if mcp.Method(msg.Method) == mcp.NotifyCancelled {
			e.cancelled(in, msg)
		}
		op.End(&telemetry.Outcome{})
		out.Accept()
	default:
		fail(out, revision.Stateless(), msg.ID, mcp.Errorf(mcp.KindInvalidRequest,
			"a response was sent, but this revision has no requests to clients: answer by calling again with inputResponses"))
	}
}

func (e *Era) request(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	call := &mcp.Call{Attempt: 1, Method: mcp.Method(msg.Method), Header: in.Header, HTTP: in.HTTP, Principal: in.Principal, From: in.Address, Memory: in.Memory}
	params := &call.Params
	rules, err := envelope(in, msg, params)
	if err != nil {
		_, op := e.observe(ctx, in, msg, rules, params)
		refuse(&op, out, rules, msg.ID, err)
		return
	}
	if err := in.Memory.Check(); err != nil {
		_, op := e.observe(ctx, in, msg, rules, params)
		refuse(&op, out, rules, msg.ID, mcp.Overloaded(err))
		return
	}
	if mcp.Method(msg.Method) == mcp.MethodDiscover {
		ctx, op := e.observe(ctx, in, msg, rules, params)
		e.discover(ctx, in, msg.ID, rules, out, &op)
		return
	}
	ctx, flight, ok := in.Conn.Begin(ctx, msg.ID)
	if !ok {
		_, op := e.observe(ctx, in, msg, rules, params)
		refuse(&op, out, rules, msg.ID, mcp.Errorf(mcp.KindInvalidRequest,
			"the request id %.40s is in use by a request that is still in flight: use a new one", msg.ID.Raw()))
		return
	}
	defer flight.Release()
	in.Admit()
	if flight != nil {
		out = &cancellable{Outgoing: out, flight: flight}
	}
	if mcp.Method(msg.Method) == mcp.MethodListen {
		e.listen(ctx, in, msg, rules, params, out, flight)
		return
	}
	e.call(ctx, msg.ID, rules, call, out, flight)
}

// refuse ends an exchange, and the operation it is, with an error.
func refuse(op *telemetry.Operation, out mcp.Outgoing, rules *revision.Rules, id jsonrpc.ID, err error) {
	op.End(failure(rules, mcp.AsError(err)))
	fail(out, rules, id, err)
}

// fail ends an exchange with an error.
func fail(out mcp.Outgoing, rules *revision.Rules, id jsonrpc.ID, err error) {
	e := mcp.AsError(err)
	out.Respond(mcp.Response{Body: errorBody(rules, id, e), Kind: e.Kind, RetryAfter: e.RetryAfter, Challenge: e.Challenge, Modern: true})
}

func errorBody(rules *revision.Rules, id jsonrpc.ID, e *mcp.Error) []byte {
	return jsonrpc.AppendError(nil, id, rules.Code(e.Kind), e.Message, e.Data)
}
