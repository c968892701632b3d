package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// maxRelayed bounds the relayed messages that one replica serves at once. Further ones are not
// answered.
const maxRelayed = 256

// The kinds of message on a replica's relay channel: "<kind> <id> <address of the sender> <sealed bytes>".
const (
	relayedMessage = "message"
	relayedAnswer  = "answer"
)

// Relay sends messages between replicas, each answered by its receiver. Unlike session events they
// are not hints: the sender knows whether there was an answer. It is safe for concurrent use.
type Relay struct {
	r       *Replica
	address string
	serving errgroup.Group

	serve   atomic.Pointer[func([]byte) []byte]
	waiting sync.Map // chan []byte, by the id of the message
}

// Relay returns this replica's Relay; it works from Start to Close.
func (r *Replica) Relay() *Relay { return r.relay }

func newRelay(r *Replica) *Relay {
	x := &Relay{r: r, address: rand.Text()}
	x.serving.SetLimit(maxRelayed)
	return x
}

// Address returns the replica's address: 26 random letters and digits.
func (x *Relay) Address() string { return x.address }

// Receive sets the function that answers messages, each in its own goroutine.
func (x *Relay) Receive(fn func(message []byte) (answer []byte)) { x.serve.Store(&fn) }

func (r *Replica) relayOf(address string) string { return r.prefix + ":m:" + address }

// Send sends a message to the replica at an address and waits for its answer, at most until ctx is
// done. With a single server it fails at once if that replica is gone; in a Cluster it does not.
func (x *Relay) Send(ctx context.Context, to string, message []byte) ([]byte, error) {
	id, answer := rand.Text(), make(chan []byte, 1)
	x.waiting.Store(id, answer)
	defer x.waiting.Delete(id)
	heard, err := x.publish(ctx, to, relayedMessage, id, message)
	switch {
	case err != nil:
		return nil, err
	case heard == 0 && x.r.cluster == nil: // A Cluster counts the listeners of one node only.
		return nil, errors.New("the replica no longer exists")
	}
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// publish sends a message to the channel of an address. heard is the number of listeners.
func (x *Relay) publish(ctx context.Context, to, kind, id string, body []byte) (heard int64, err error) {
	err = x.r.send(ctx, "", func() error {
		payload := kind + " " + id + " " + x.address + " " + string(x.r.seals.seal(bindRelayed(to, kind, id), body))
		heard, err = x.r.client.Publish(ctx, x.r.relayOf(escapeID(to)), payload).Result()
		return err
	})
	return heard, err
}

// received handles a message on this replica's channel.
func (x *Relay) received(payload string) {
	f := strings.SplitN(payload, " ", 4)
	if len(f) != 4 {
		return
	}
	kind, id, from := f[0], f[1], f[2]
	body, err := x.r.seals.open(bindRelayed(x.address, kind, id), f[3])
	if err != nil {
		return // the sender's wait times out, and it reports that
	}
	switch serve := x.serve.Load(); {
	case kind == relayedAnswer:
		if answer, ok := x.waiting.LoadAndDelete(id); ok {
			answer.(chan []byte) <- body
		}
	case kind == relayedMessage && serve != nil:
		x.serving.TryGo(func() error { // If too many run, the sender's wait times out, and it reports that.
			x.answer(*serve, from, id, body)
			return nil
		})
	}
}

// answer serves a message and sends the answer.
func (x *Relay) answer(serve func([]byte) []byte, to, id string, body []byte) {
	answer := serve(body)
	ctx, cancel := detachedContext(context.Background())
	defer cancel()
	_, _ = x.publish(ctx, to, relayedAnswer, id, answer) // If it is lost, the sender's time ends.
}
