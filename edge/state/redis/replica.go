package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Options of a Replica.
type Options struct {
	// Limits bound what is kept; zero members are the defaults. All replicas on one Redis need the same.
	Limits state.Limits
	// Replica is a name for messages and keys; "replica" if empty. Each New is an incarnation of its own,
	// whatever the name.
	Replica string
	// Prefix begins every key and channel; "mcpedge" if empty. It must not contain "{" or a space.
	Prefix string
	// Accounts begins the keys of what callers keep together, of all Replicas that have the same; Prefix if empty.
	Accounts string
	// Acknowledge is how many replicas of Redis have to have the calls that begin, and their session, before Commit returns; 0: none.
	Acknowledge int
	// Logger gets what no caller hears of; discarded if nil.
	Logger *slog.Logger
}

// Replica is one incarnation of an edge process on a Redis. Safe for concurrent use.
type Replica struct {
	client redis.UniversalClient
	limits state.Limits
	prefix string
	// accounts begins the keys of accounts.
	accounts string
	id       string
	log      *slog.Logger
	// shared is what setShared prepared. bucketsApart: the index of unfinished streams and the accounts may be on
	// other servers than the sessions, and no script can change both.
	shared       []any
	bucketsApart bool

	hooks     atomic.Pointer[medium.Hooks]
	handlers  chan struct{} // bounds the handlers of session events that run at once
	followers followers
	notices   notifications
	relay     *Relay
	sweeps    sweeps
	renewals  renewals
	breakers  breakers
	logs      logCache
	acks      acknowledgements
	beating   atomic.Bool // the last sign of life was taken

	life   sync.Mutex // held by Beat and Leave, and guards the inbox
	left   atomic.Bool
	inbox  *redis.PubSub
	closed bool
	ended  chan struct{} // the inbox's reader has ended

	secret             atomic.Pointer[[]byte]
	dropped, rollbacks atomic.Uint64
}

var _ medium.Store = (*Replica)(nil)

// New makes an incarnation of a replica that uses the client, which stays the caller's to close, after
// Close. The client's timeouts bound every operation; with ContextTimeoutEnabled the contexts' deadlines
// do too. Nothing is sent to Redis before Start.
func New(client redis.UniversalClient, o Options) (*Replica, error) {
	if client == nil {
		return nil, errors.New("a Redis client is needed")
	}
	if _, ok := client.(*redis.Ring); ok {
		return nil, errors.New("a client-side ring cannot keep the state: use a single server, Sentinel or a Cluster")
	}
	o.Prefix = cmp.Or(o.Prefix, "mcpedge")
	if strings.ContainsAny(o.Prefix, "{ ") {
		return nil, fmt.Errorf("key prefix %q: it must not contain \"{\" or a space", o.Prefix)
	}
	r := &Replica{
		client: client, limits: o.Limits.OrDefaults(), prefix: o.Prefix, accounts: cmp.Or(o.Accounts, o.Prefix),
		id:  safe(cmp.Or(o.Replica, "replica")) + "-" + rand.Text(),
		log: o.Logger, handlers: make(chan struct{}, maxHandlers), ended: make(chan struct{}),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.hooks.Store(&medium.Hooks{})
	r.renewals.init(renewal(r.limits))
	r.bucketsApart = clustered(client)
	r.setShared()
	r.breakers.init(client)
	r.followers.init()
	r.notices.init()
	r.logs.init()
	r.acks.init(o.Acknowledge)
	r.relay = newRelay(r)
	return r, nil
}

// Store is the replica with the hooks of whoever uses it. Call it before Start.
func (r *Replica) Store(h medium.Hooks) medium.Store {
	r.hooks.Store(&h)
	return r
}

// Start checks that Redis is fit to keep state, gives the first sign of life and opens the inbox, which
// brings session events and wake-ups until Close. Call it once, before any other method; after an error it may be
// called again. It gives state.ErrUnavailable when Redis cannot be reached, and another error when its
// eviction policy would drop sessions.
func (r *Replica) Start(ctx context.Context) error {
	if err := r.checkPolicy(ctx); err != nil {
		return err
	}
	if err := r.beat(ctx); err != nil {
		return err
	}
	r.life.Lock()
	defer r.life.Unlock()
	if r.closed || r.inbox != nil {
		return errors.New("the replica was started or closed before: start a new one")
	}
	ps := r.client.Subscribe(ctx, r.inboxOf(r.id), r.relayOf(r.relay.address))
	if _, err := ps.Receive(ctx); err != nil {
		_ = ps.Close()
		return fmt.Errorf("opening the inbox: %w", unavailable(ctx, err))
	}
	r.inbox = ps
	messages := ps.ChannelWithSubscriptions(redis.WithChannelSize(inboxSize))
	go r.receive(messages)
	return nil
}

// Close ends the inbox and the probes; it does not Leave. It may be called more than once, and without Start.
func (r *Replica) Close() error {
	r.life.Lock()
	ps, first := r.inbox, !r.closed
	r.closed = true
	r.life.Unlock()
	r.breakers.end()
	if ps == nil {
		return nil
	}
	var err error
	if first {
		err = ps.Close()
	}
	<-r.ended
	return err
}

// Stats is how this replica gets on with Redis.
type Stats struct {
	// Healthy: Redis answers, and took the last sign of life. False before Start.
	Healthy bool
	// Trips counts how often Redis was found not to answer; Rejected the operations that failed at once
	// until it did.
	Trips, Rejected uint64
	// Dropped counts the progress and log messages that were dropped for the bounds on logs.
	Dropped uint64
	// Rollbacks counts the positions and writes that told of entries Redis does not have.
	Rollbacks uint64
}

// Stats returns the numbers of this moment.
func (r *Replica) Stats() Stats {
	return Stats{
		Healthy: r.beating.Load() && r.breakers.open.Load() == 0,
		Trips:   r.breakers.trips.Load(), Rejected: r.breakers.rejected.Load(),
		Dropped: r.dropped.Load(), Rollbacks: r.rollbacks.Load(),
	}
}

// aside is the context of what is done after an operation, or when its caller cannot wait.
func aside(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Second)
}
