package auth

import (
	"context"
	"errors"
	"sync"
)

const (
	// maxAsking bounds the concurrent requests to an issuer, and maxAskingOfOne those for one
	// client, so that one client cannot block the others. Further ones wait, as long as one may
	// take.
	maxAsking, maxAskingOfOne = 64, 16
	// maxWaiting bounds the requests that run or wait, over all clients, and maxWaitingOfOne those
	// for one client. Each holds its token, even after its call has ended. Further ones are refused
	// at once.
	maxWaiting, maxWaitingOfOne = 8 << 10, 1 << 10
)

// errWaiting means that too many requests to an issuer wait.
var errWaiting = errors.New("too many requests to the issuer are waiting")

// turns limits the requests to one issuer, in total and for each client. K identifies a client. It
// is safe for concurrent use.
type turns[K comparable] struct {
	places chan struct{}

	mu sync.Mutex
	// clients has a share for each client with a request.
	clients map[K]*share
	// users is the number of users of all shares.
	users int
}

// share limits one client.
type share struct {
	places chan struct{}
	// users is the number of callers that hold the share and must drop it. Guarded by turns.mu.
	users int
}

func newTurns[K comparable]() *turns[K] {
	return &turns[K]{places: make(chan struct{}, maxAsking), clients: map[K]*share{}}
}

// enter waits for a place among the requests for a client, and among all. leave releases both. It
// fails with errWaiting if too many wait, and when ctx ends.
func (t *turns[K]) enter(ctx context.Context, client K) (leave func(), _ error) {
	own := t.of(client)
	if own == nil {
		return nil, errWaiting
	}
	select {
	case own.places <- struct{}{}:
	case <-ctx.Done():
		t.drop(client)
		return nil, ctx.Err()
	}
	release := func() {
		<-own.places
		t.drop(client)
	}
	select {
	case t.places <- struct{}{}:
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
	return func() {
		<-t.places
		release()
	}, nil
}

// of returns the share of a client, until the caller drops it. It returns nil if the share, or all
// together, have too many users.
func (t *turns[K]) of(client K) *share {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.clients[client]
	if t.users >= maxWaiting || own != nil && own.users >= maxWaitingOfOne {
		return nil
	}
	if own == nil {
		own = &share{places: make(chan struct{}, maxAskingOfOne)}
		t.clients[client] = own
	}
	own.users++
	t.users++
	return own
}

func (t *turns[K]) drop(client K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.clients[client]
	t.users--
	if own.users--; own.users == 0 {
		delete(t.clients, client)
	}
}
