package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Opened is the state of one edge on one Redis. Its fields have no types of the client library: a package that uses a *Replica
// compiles the promoted methods of the library's clients again, which takes two seconds.
type Opened struct {
	// Media are the media of sessions and of tasks.
	Media Media
	// Check examines Redis.
	Check Check
	// Stats returns the statistics of the two media.
	Stats func() (sessions, tasks Stats)
	// Relay sends messages to other replicas.
	Relay Messages
	// Quotas are the budgets that replicas share.
	Quotas quota.Store
	// Proofs, Confirmations and Ended are the stores of Replica's methods of these names.
	Proofs, Confirmations, Ended Spent
	// Names are what backends listed last on any replica.
	Names ownership.Store
	// Disabled is what operators have disabled on any replica.
	Disabled disabled.Store
}

// Media are a medium of sessions and one of tasks, and the client that they share.
type Media interface {
	// Store returns the medium of sessions with the hooks of its user. Call it before Start.
	Store(h medium.Hooks) medium.Store
	// Tasks returns the medium of tasks. Call it before Start.
	Tasks(h medium.Hooks) medium.Store
	// Start starts both media as Replica.Start does. It may be called again, but not concurrently: those that were started stay so.
	Start(ctx context.Context) error
	// Secret returns the key that all replicas share.
	Secret(ctx context.Context) ([]byte, error)
	// Close closes both media and the client.
	Close() error
}

// Check examines whether Redis can keep state.
type Check interface {
	// Fit is Replica.Fit for both media.
	Fit(ctx context.Context) (known bool, err error)
	// Followers is Replica.Followers.
	Followers(ctx context.Context, most int) (int, error)
}

// Messages are the methods of Relay.
type Messages interface {
	Address() string
	Send(ctx context.Context, to string, message []byte) (answer []byte, err error)
	Receive(func(message []byte) (answer []byte))
}

// Spent has the methods of Once.
type Spent interface {
	ID() string
	Spend(ctx context.Context, caller, id string, life time.Duration, most int) (fresh bool, err error)
	Spent(ctx context.Context, caller, id string) (bool, error)
}

// Open makes the incarnations of sessions and of tasks on the Redis at url, which has the form of go-redis for its kind. It does not
// connect. observe may be nil. Errors about the URL name the setting redis.url, and contain no values of it.
func Open(kind Kind, url string, observe Observe, sessions, tasks Options) (*Opened, error) {
	m := media{started: map[*Replica]bool{}}
	var err error
	if m.client, err = connect(kind, url, observe); err != nil {
		return nil, err
	}
	if m.sessions, err = New(m.client, sessions); err == nil {
		m.tasks, err = New(m.client, tasks)
	}
	if err != nil {
		return nil, errors.Join(err, m.client.Close())
	}
	r := m.sessions
	return &Opened{
		Media: &m, Check: &m,
		Stats:  func() (sessions, tasks Stats) { return m.sessions.Stats(), m.tasks.Stats() },
		Relay:  r.Relay(),
		Quotas: r.Quotas(), Proofs: r.Proofs(), Confirmations: r.Confirmations(), Ended: r.Ended(),
		Names: r.Names(), Disabled: r.Disabled(),
	}, nil
}

// media implements Media and Check. It owns the client.
type media struct {
	sessions, tasks *Replica
	client          redis.UniversalClient
	// started has the replicas that Start has started.
	started map[*Replica]bool
}

func (m *media) Store(h medium.Hooks) medium.Store { return m.sessions.Store(h) }

func (m *media) Tasks(h medium.Hooks) medium.Store { return m.tasks.Store(h) }

func (m *media) Start(ctx context.Context) error {
	for _, r := range []*Replica{m.sessions, m.tasks} {
		if m.started[r] {
			continue
		}
		if err := r.Start(ctx); err != nil {
			return err
		}
		m.started[r] = true
	}
	return nil
}

func (m *media) Secret(ctx context.Context) ([]byte, error) { return m.sessions.Secret(ctx) }

func (m *media) Close() error {
	return errors.Join(m.tasks.Close(), m.sessions.Close(), m.client.Close())
}

func (m *media) Fit(ctx context.Context) (known bool, err error) {
	if known, err = m.sessions.Fit(ctx); err != nil {
		return known, err
	}
	if _, err = m.tasks.Fit(ctx); err != nil {
		err = fmt.Errorf("tasks: %w", err)
	}
	return known, err
}

func (m *media) Followers(ctx context.Context, most int) (int, error) {
	return m.tasks.Followers(ctx, most)
}
