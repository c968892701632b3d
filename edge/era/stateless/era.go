package stateless

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options are the settings of the era. Zero values select the documented defaults.
type Options struct {
	// Keys seal request states: 32 bytes each. The first key seals, and all keys open, so that a
	// key can be rotated. All replicas must have the same keys. Empty means a random key, valid for
	// one replica and one process.
	Keys [][]byte
	// MaxRounds bounds the rounds of one call that ask the client; 0 means mcp.DefaultRounds.
	MaxRounds int
	// CallLifetime bounds a call from its first round to its last; 0 means mcp.DefaultCallLifetime.
	CallLifetime time.Duration
	// StreamAfter is the time after which the response of a call becomes a stream, which sends
	// headers and keep-alives to proxies. 0 means 1 s.
	StreamAfter time.Duration
	// KeepAlive is the time for which an open stream may be silent. 0 means 15 s.
	KeepAlive time.Duration
	// MaxListens bounds the open subscriptions of one principal, and of all anonymous callers of
	// this replica together; 0 means 20,000.
	MaxListens int
	// MaxListenBytes bounds the bytes of the URIs of one principal's open subscriptions. Each URI
	// counts its length plus 64 bytes. 0 means 64 MiB.
	MaxListenBytes int
	// MaxSubscriptions bounds the resources of one subscription; 0 means 1,024.
	MaxSubscriptions int
	// Telemetry observes the requests; nil disables it.
	Telemetry *telemetry.Telemetry
	// Logger logs events for operators; nil means slog.Default.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.MaxRounds = cmp.Or(o.MaxRounds, mcp.DefaultRounds)
	o.CallLifetime = cmp.Or(o.CallLifetime, mcp.DefaultCallLifetime)
	o.StreamAfter = cmp.Or(o.StreamAfter, time.Second)
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.MaxListens = cmp.Or(o.MaxListens, 20_000)
	o.MaxListenBytes = cmp.Or(o.MaxListenBytes, 64<<20)
	o.MaxSubscriptions = cmp.Or(o.MaxSubscriptions, 1024)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

// Era serves the stateless era. Safe for concurrent use.
type Era struct {
	dispatch era.Dispatcher
	server   era.Describer
	opts     Options
	keys     era.Keys
	listens  *listens
	draining context.Context
	drain    context.CancelFunc
	// listening counts the open subscriptions.
	listening atomic.Int64
	// expired counts the subscriptions that ended because their caller's credentials expired.
	expired atomic.Int64
	// aborting is true once the edge ends connections (Abort). calls is the number of calls being
	// served.
	aborting atomic.Bool
	calls    atomic.Int64
}

var _ era.Stateless = (*Era)(nil)

// New makes the era. server describes the edge. New fails if a key does not have 32 bytes.
func New(d era.Dispatcher, server era.Describer, o Options) (*Era, error) {
	o = o.withDefaults()
	e := &Era{dispatch: d, server: server, opts: o, listens: newListens(o.MaxListens, o.MaxListenBytes)}
	if err := e.keys.Use(o.Keys...); err != nil {
		return nil, err
	}
	e.draining, e.drain = context.WithCancel(context.Background())
	return e, nil
}

// SealWith sets Options.Keys to one key, for a key that is only known after New. It must be called
// before the first message.
func (e *Era) SealWith(key []byte) error { return e.keys.Use(key) }

// Listening returns the number of open subscriptions.
func (e *Era) Listening() int64 { return e.listening.Load() }

// Expired returns the number of subscriptions that ended because their caller's credentials
// expired.
func (e *Era) Expired() int64 { return e.expired.Load() }

// ListenBytes returns the bytes of all open subscriptions, counted as for Options.MaxListenBytes.
func (e *Era) ListenBytes() int64 { return e.listens.bytes.Load() }

// Drain ends every subscription with its result, so that clients subscribe again at other replicas.
// Calls continue.
func (e *Era) Drain() { e.drain() }

// Abort records that the edge ends connections, and the calls on them, from now on. These calls are
// not counted as cancelled by their clients.
func (e *Era) Abort() { e.aborting.Store(true) }

// awaitInterval is the polling interval of Await.
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
		e.notification(ctx, in, msg, out)
	default: // The id is that of a request of the edge, not of one of the client.
		refuse(new(telemetry.Operation), out, revision.Stateless(), jsonrpc.ID{}, mcp.Errorf(mcp.KindInvalidRequest,
			"a response was sent, but this revision has no requests to clients: answer by calling again with inputResponses"))
	}
}

// notification handles a client's notification. Over HTTP no notification has an effect: the end of
// its connection cancels a call.
func (e *Era) notification(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	_, op := e.observe(ctx, in, msg, revision.Stateless(), nil)
	if mcp.Method(msg.Method) == mcp.NotifyCancelled {
		e.cancelled(in, msg)
	}
	op.End(&telemetry.Outcome{})
	out.Accept()
}

// request serves a request. It and Message are on the stack of every call, so operations, which are
// large, begin in other functions: a growing stack is copied.
func (e *Era) request(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	call := era.NewCall(in, msg.ID, mcp.Method(msg.Method))
	call.Header, call.Memory = in.Header, in.Memory
	params := &call.Params
	rules, err := envelope(in, msg, params)
	if err == nil {
		if full := in.Memory.Check(); full != nil {
			err = mcp.Overloaded(full)
		}
	}
	if err != nil {
		e.reject(ctx, in, msg, rules, params, out, err)
		return
	}
	if call.Method == mcp.MethodDiscover {
		e.discover(ctx, in, msg, rules, params, out)
		return
	}
	ctx, flight, ok := in.Conn.Begin(ctx, msg.ID)
	if !ok {
		e.reject(ctx, in, msg, rules, params, out, mcp.Errorf(mcp.KindInvalidRequest,
			"the request id %.40s is in use by a request that is still in flight: use a new one", msg.ID.Raw()))
		return
	}
	defer flight.Release()
	in.Admit()
	if flight != nil {
		out = &cancellable{Outgoing: out, flight: flight}
	}
	if call.Method == mcp.MethodListen {
		e.listen(ctx, in, msg, rules, params, out, flight)
		return
	}
	e.call(ctx, rules, call, out, flight)
}

// reject ends a request for which no operation was begun with an error. It records an operation for it.
func (e *Era) reject(
	ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, rules *revision.Rules, params *mcp.Params, out mcp.Outgoing, err error,
) {
	_, op := e.observe(ctx, in, msg, rules, params)
	refuse(&op, out, rules, msg.ID, err)
}

// refuse ends an exchange, and its operation, with an error.
func refuse(op *telemetry.Operation, out mcp.Outgoing, rules *revision.Rules, id jsonrpc.ID, err error) {
	response := era.Failure(rules, id, err)
	response.Modern = true
	op.End(&response.Outcome)
	out.Respond(response.Response)
}

// discover serves server/discover: it describes the server as the result of `initialize` does in
// the stateful era.
func (e *Era) discover(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, rules *revision.Rules, params *mcp.Params, out mcp.Outgoing) {
	ctx, op := e.observe(ctx, in, msg, rules, params)
	d := e.server.Describe(ctx, rules, in.Set, in.Principal)
	body := append([]byte(`{"supportedVersions":`), arrayOf(revision.Supported())...)
	body = jsonrpc.AppendMember(body, "capabilities", d.Capabilities)
	if d.Instructions != "" {
		body = jsonrpc.AppendString(append(body, `,"instructions":`...), d.Instructions)
	}
	body = strconv.AppendInt(append(body, `,"ttlMs":`...), d.TTL, 10)
	scope := "private"
	if d.Public {
		scope = "public"
	}
	body = append(body, `,"cacheScope":"`+scope+`","resultType":"complete"`...)
	body = append(appendMeta(body, d.ServerInfo, jsonrpc.ID{}), '}')
	op.End(&telemetry.Outcome{})
	out.Respond(mcp.Response{Body: jsonrpc.AppendResult(nil, msg.ID, body), Modern: true})
}

// appendMeta appends the `_meta` of a result of the era's own: the server's info, and for a
// subscription its id.
func appendMeta(dst []byte, serverInfo []byte, subscription jsonrpc.ID) []byte {
	meta := jsonrpc.AppendMember([]byte{'{'}, mcp.MetaServerInfo, serverInfo)
	if !subscription.IsZero() {
		meta = jsonrpc.AppendMember(meta, mcp.MetaSubscriptionID, []byte(subscription.Raw()))
	}
	return jsonrpc.AppendMember(dst, "_meta", append(meta, '}'))
}
