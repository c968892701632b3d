package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// maxRelayed bounds the relayed messages that one replica serves at once. Further ones are not
// answered.
const maxRelayed = 256

// The first byte of a message on a replica's relay channel.
const (
	relayedMessage = 'q' // "<id> <address of the sender> <message>"
	relayedAnswer  = 's' // "<id> <answer>"
)

var errNoReplica = errors.New("the replica is not there any more")

// Relay sends messages between replicas, each answered by its receiver. Unlike session events they
// are not hints: the sender knows whether there was an answer. It is safe for concurrent use.
type Relay struct {
	r       *Replica
	address string
	room    chan struct{}

	mu      sync.Mutex
	serve   func([]byte) []byte
	waiting map[string]chan []byte
}

// Relay returns this replica's Relay; it works from Start to Close.
func (r *Replica) Relay() *Relay { return r.relay }

func newRelay(r *Replica) *Relay {
	return &Relay{r: r, address: rand.Text(), room: make(chan struct{}, maxRelayed), waiting: map[string]chan []byte{}}
}

// Address returns the replica's address: 26 random letters and digits.
func (x *Relay) Address() string { return x.address }

// Receive sets the function that answers messages, each in its own goroutine. nil answers none.
func (x *Relay) Receive(fn func(message []byte) (answer []byte)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.serve = fn
}

func (r *Replica) relayOf(address string) string { return r.prefix + ":m:" + address }

// Send sends a message to the replica at an address and waits for its answer, at most until ctx is
// done. With a single server it fails at once if that replica is gone; in a Cluster it does not.
func (x *Relay) Send(ctx context.Context, to string, message []byte) ([]byte, error) {
	id := rand.Text()
	answer := make(chan []byte, 1)
	x.mu.Lock()
	x.waiting[id] = answer
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		delete(x.waiting, id)
		x.mu.Unlock()
	}()
	heard, err := x.publish(ctx, to, string(relayedMessage)+id+" "+x.address+" "+string(message))
	switch {
	case err != nil:
		return nil, unavailable(ctx, err)
	case heard == 0 && !clustered(x.r.client):
		return nil, errNoReplica
	}
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the other replica's answer: %w", ctx.Err())
	}
}

// publish sends a payload to the channel of an address. heard is the number of listeners.
func (x *Relay) publish(ctx context.Context, to, payload string) (heard int64, err error) {
	err = x.r.send(ctx, "", func() error {
		heard, err = x.r.client.Publish(ctx, x.r.relayOf(safe(to)), payload).Result()
		return err
	})
	return heard, err
}

// clustered reports whether a PUBLISH counts the listeners of one node only.
func clustered(c redis.UniversalClient) bool {
	_, ok := c.(*redis.ClusterClient)
	return ok
}

// received handles a message on this replica's channel.
func (x *Relay) received(payload string) {
	if payload == "" {
		return
	}
	id, rest, ok := strings.Cut(payload[1:], " ")
	if !ok {
		return
	}
	x.mu.Lock()
	serve, answer := x.serve, x.waiting[id]
	x.mu.Unlock()
	switch payload[0] {
	case relayedAnswer:
		select {
		case answer <- []byte(rest):
		default: // the sender has given up
		}
	case relayedMessage:
		from, message, ok := strings.Cut(rest, " ")
		if !ok || serve == nil {
			return
		}
		select {
		case x.room <- struct{}{}:
		default:
			return
		}
		go func() {
			defer func() { <-x.room }()
			x.answer(id, from, serve([]byte(message)))
		}()
	}
}

func (x *Relay) answer(id, to string, body []byte) {
	ctx, cancel := aside(context.Background())
	defer cancel()
	_, err := x.publish(ctx, to, string(relayedAnswer)+id+" "+string(body))
	if err != nil {
		x.r.log.Debug("an answer to another replica was lost", "error", err)
	}
}
