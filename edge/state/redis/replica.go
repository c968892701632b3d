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
	"golang.org/x/sync/errgroup"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Options configure a Replica.
type Options struct {
	// Limits bound the stored state. Zero fields mean the defaults. All replicas on one Redis need
	// the same.
	Limits state.Limits
	// Replica is a name for messages and keys. Empty means "replica". Each New is a separate
	// incarnation, even with the same name.
	Replica string
	// Prefix begins every key and channel. Empty means "mcpedge". It must not contain "{" or a
	// space.
	Prefix string
	// Accounts begins the keys of the callers' accounts, which all Replicas with the same value
	// share. Empty means Prefix.
	Accounts string
	// Acknowledge is the number of Redis replicas that must have the calls that begin, and their
	// session, before Commit returns. 0 requires none.
	Acknowledge int
	// AcknowledgeUsed is the number of Redis replicas that must have a used confirmation before
	// Spend of Confirmations returns without an error. 0 requires none.
	AcknowledgeUsed int
	// Keys seal data that callers, backends and users wrote. Each has 32 bytes. The first one seals,
	// and all open. Values without a seal can be read, too. All Replicas on one Redis need the same.
	// nil disables sealing.
	Keys [][]byte
	// Logger logs what no caller is returned. nil discards it.
	Logger *slog.Logger
}

// Replica is one incarnation of an edge process on a Redis. It is safe for concurrent use.
type Replica struct {
	client redis.UniversalClient
	// single is the client of one server, and cluster that of a Cluster, in which the index of unfinished
	// streams and the accounts may be on other servers than the sessions, so that no script can change
	// both. The other one is nil.
	single  *redis.Client
	cluster *redis.ClusterClient
	limits  state.Limits
	prefix  string
	// accounts begins the keys of accounts.
	accounts string
	id       string
	log      *slog.Logger
	// shared is prepared by setShared.
	shared []any

	hooks     atomic.Pointer[medium.Hooks]
	handlers  errgroup.Group // runs the handlers of session events
	followers followers
	acking    sync.Map // chan string, for the replicas that have handled a notification, by its id
	relay     *Relay
	announced atomic.Pointer[func()] // of AnnouncedTable.OnAnnounced
	sweeps    sweeps
	lapses    lapses
	renewals  renewals
	breakers  breakers
	logs      logCache
	seals     *sealer
	acks      *acknowledgements // nil if the calls that begin need none
	usedAcks  *acknowledgements // nil if used confirmations need none
	health    health

	life   sync.Mutex // held by Beat and Leave, and guards the inbox
	left   atomic.Bool
	silent atomic.Bool // a warning was logged that Redis does not report its eviction policy
	inbox  *redis.PubSub
	closed bool
	ended  chan struct{} // the inbox's reader has ended

	secret atomic.Pointer[[]byte]
	// unverified means that Redis may have lost the secret since it was last found there.
	unverified         atomic.Bool
	dropped, rollbacks atomic.Uint64
}

var _ medium.Store = (*Replica)(nil)

// New makes an incarnation of a replica that uses client. The caller keeps ownership of client and
// closes it after Close. The client's timeouts bound every operation; with ContextTimeoutEnabled
// the contexts' deadlines do too. Nothing is sent to Redis before Start.
func New(client redis.UniversalClient, o Options) (*Replica, error) {
	single, _ := client.(*redis.Client)
	cluster, _ := client.(*redis.ClusterClient)
	if single == nil && cluster == nil {
		return nil, fmt.Errorf("a client of type %T cannot keep the state: use a single server, Sentinel or a Cluster", client)
	}
	o.Prefix = cmp.Or(o.Prefix, "mcpedge")
	if strings.ContainsAny(o.Prefix, "{ ") {
		return nil, fmt.Errorf("key prefix %q: it must not contain \"{\" or a space", o.Prefix)
	}
	r := &Replica{
		client: client, single: single, cluster: cluster, limits: o.Limits.OrDefaults(), prefix: o.Prefix, accounts: cmp.Or(o.Accounts, o.Prefix),
		id:  escapeID(cmp.Or(o.Replica, "replica")) + "-" + rand.Text(),
		log: o.Logger, ended: make(chan struct{}),
		acks: newAcknowledgements(o.Acknowledge), usedAcks: newAcknowledgements(o.AcknowledgeUsed),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if r.seals, err = newSealer(o.Keys, r.prefix, r.log); err != nil {
		return nil, err
	}
	r.health.log, r.health.since = r.log, time.Now()
	r.sweeps.unreadable = map[string]struct{}{}
	r.hooks.Store(&medium.Hooks{})
	r.renewals.init(renewal(r.limits))
	r.setShared()
	r.breakers.nodes = map[string]*breaker{}
	r.breakers.life, r.breakers.stop = context.WithCancel(context.Background())
	r.followers.at = map[place]map[*follower]struct{}{}
	r.handlers.SetLimit(maxHandlers)
	r.logs.m = map[place]*cachedLog{}
	r.relay = newRelay(r)
	return r, nil
}

// Store returns the replica with the hooks of its user. Call it before Start.
func (r *Replica) Store(h medium.Hooks) medium.Store {
	r.hooks.Store(&h)
	return r
}

// Start checks that Redis is fit to keep state, opens the inbox, which receives session events and
// wake-ups until Close, and sends the first heartbeat. Call it once, before any other method;
// after an error it may be called again. The error is state.ErrUnavailable if Redis cannot be
// reached, and another error if its eviction policy would drop sessions.
func (r *Replica) Start(ctx context.Context) error {
	known, err := r.checkPolicy(ctx)
	if err != nil {
		r.health.failed(err)
		r.lapses.failed(r.limits.Lease)
		return err
	}
	if !known && !r.silent.Swap(true) {
		r.log.Warn("Redis does not report its eviction policy: make sure that it is noeviction, or sessions are lost when its memory is full",
			"setting", policyName)
	}
	ps, err := r.subscribe(ctx)
	if err == nil {
		if err = r.beat(ctx); err != nil {
			_ = ps.Close()
		}
	}
	if err != nil {
		r.health.failed(err)
		r.lapses.failed(r.limits.Lease)
		return err
	}
	r.life.Lock()
	defer r.life.Unlock()
	if r.closed || r.inbox != nil {
		_ = ps.Close()
		return errors.New("the replica was started or closed before: start a new one")
	}
	r.inbox = ps
	messages := ps.ChannelWithSubscriptions(redis.WithChannelSize(inboxSize))
	go r.receive(messages)
	return nil
}

// subscribe opens the inbox, the relay's channel and that of announcements. The caller closes them.
func (r *Replica) subscribe(ctx context.Context) (*redis.PubSub, error) {
	ps := r.client.Subscribe(ctx, r.inboxOf(r.id), r.relayOf(r.relay.address), r.announcements())
	for range 3 {
		if _, err := ps.Receive(ctx); err != nil {
			_ = ps.Close()
			return nil, fmt.Errorf("opening the inbox: %w", unavailable(ctx, err))
		}
	}
	return ps, nil
}

// Close ends the inbox and the probes; it does not leave (see Beat). It may be called more than
// once, and without Start.
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

// Stats describe the state of this replica's Redis.
type Stats struct {
	// Healthy means that Redis answers and has stored the last heartbeat. It is false before Start.
	Healthy bool
	// Since is when Healthy last changed; before the first change, when the replica was made.
	Since time.Time
	// Err is why Healthy is false. nil means that it is true, or that the reason is unknown, as
	// before Start.
	Err error
	// Trips is the number of times that Redis stopped responding, Rejected the number of operations
	// that failed at once until it responded again.
	Trips, Rejected uint64
	// Dropped counts the progress and log messages dropped because of the bounds on logs.
	Dropped uint64
	// Rollbacks counts positions and writes that refer to entries which Redis lacks.
	Rollbacks uint64
}

// Stats returns the current numbers.
func (r *Replica) Stats() Stats {
	healthy, since, cause := r.health.read()
	return Stats{
		Healthy: healthy, Since: since, Err: cause,
		Trips: r.breakers.trips.Load(), Rejected: r.breakers.rejected.Load(),
		Dropped: r.dropped.Load(), Rollbacks: r.rollbacks.Load(),
	}
}

// detachedContext returns a context for work after an operation, or whose caller cannot wait.
func detachedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Second)
}
