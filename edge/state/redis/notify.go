package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// notifyWait bounds the wait of an event for its handlers.
	notifyWait = 250 * time.Millisecond
	// maxHandlers bounds the handlers of one replica that run at once. Further events are lost.
	maxHandlers = 256
)

// message is a session event sent to an inbox.
type message struct {
	Event state.SessionEvent
	// ID identifies the notification, From the sender that waits for the ack.
	ID   string
	From string
}

// ack reports that a replica has handled an event.
type ack struct {
	ID      string
	Replica string
}

// Notify implements medium.Replicas. It notifies a replica without a heartbeat, but does not wait
// for it.
func (r *Replica) Notify(ctx context.Context, b state.SessionEvent) error {
	late := time.After(notifyWait)
	holders, err := r.holders(ctx, b.Session)
	if err != nil || len(holders) == 0 {
		return err
	}
	id, acks := rand.Text(), make(chan string, 2*len(holders)) // at most one ack from each holder
	r.acking.Store(id, acks)
	defer r.acking.Delete(id)
	waiting, err := r.publish(ctx, holders, message{Event: b, ID: id, From: r.id})
	if err != nil {
		return err
	}
	for len(waiting) > 0 {
		select {
		case replica := <-acks:
			delete(waiting, replica)
		case <-late:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// holders returns the other replicas that hold a session, or held it until recently.
func (r *Replica) holders(ctx context.Context, id string) ([]string, error) {
	var hold, held *redis.StringSliceCmd
	err := r.pipe(ctx, func(p redis.Pipeliner) {
		hold = p.ZRange(ctx, r.session(id)+":h", 0, -1)
		held = p.ZRange(ctx, r.session(id)+":x", 0, -1)
	})
	if err != nil {
		return nil, err
	}
	list := hold.Val()
	if len(list) == 0 {
		list = held.Val()
	}
	return slices.DeleteFunc(list, func(h string) bool { return h == r.id }), nil
}

// onAck handles an ack. One that comes too late is ignored.
func (r *Replica) onAck(a ack) {
	waiting, _ := r.acking.Load(a.ID)
	acks, _ := waiting.(chan string)
	select {
	case acks <- a.Replica:
	default:
	}
}

// publish sends an event and returns those holders that are alive.
func (r *Replica) publish(ctx context.Context, holders []string, b message) (map[string]bool, error) {
	body, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	alive := make([]*redis.IntCmd, len(holders))
	err = r.pipe(ctx, func(p redis.Pipeliner) {
		for i, h := range holders {
			alive[i] = p.Exists(ctx, r.heartbeat(h))
			p.Publish(ctx, r.inboxOf(h), string(eventMessage)+string(r.seals.seal(bindEvent(h), body)))
		}
	})
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for i, h := range holders {
		if alive[i].Val() > 0 {
			out[h] = true
		}
	}
	return out, nil
}

// onMessage runs the handler of a session event and then sends the ack; without a handler it does
// so at once. If too many handlers run, the event is lost. A replica that has left sends no ack and
// holds nothing.
func (r *Replica) onMessage(b message) {
	r.handle(b.Event, func() {
		body, _ := json.Marshal(ack{ID: b.ID, Replica: r.id})
		ctx, cancel := detachedContext(context.Background())
		defer cancel()
		// A lost ack costs its sender the rest of 250 ms.
		_ = r.pipe(ctx, func(p redis.Pipeliner) { p.Publish(ctx, r.inboxOf(b.From), string(ackMessage)+string(body)) })
	})
}

// onBegun handles the message that a call has begun at another replica, as an event.
func (r *Replica) onBegun(body string) {
	key, request, ok := cutCounted(body)
	session, mine := r.sessionOf(key)
	if ok && mine {
		r.handle(state.SessionEvent{Kind: state.RequestBegan, Session: session, RequestID: request}, func() {})
	}
}

// handle runs the handler of session events, and then done. If too many handlers run, or the
// replica has left, it does nothing.
func (r *Replica) handle(b state.SessionEvent, done func()) {
	if r.left.Load() {
		return
	}
	fn := r.hooks.Load().Event
	r.handlers.TryGo(func() error {
		if fn != nil {
			fn(b)
		}
		done()
		return nil
	})
}

// returned reports to the replica that Redis was away. It does not wait for the effects.
func (r *Replica) returned() {
	fn := r.hooks.Load().Returning
	if fn == nil || r.left.Load() {
		return
	}
	r.handlers.TryGo(func() error { // If too many run, they cover this event.
		fn()
		return nil
	})
}

// inboxSize is the number of messages that wait for the inbox's reader. More are lost; a lost hint
// costs time.
const inboxSize = 4096

// The first byte of a message to an inbox is its type.
const (
	wakeMessage  = 'w' // a followed stream may have grown
	eventMessage = 'b' // a session event, as sealed JSON
	begunMessage = 'd' // a call has begun: "<length>:<session key><request id>"
	ackMessage   = 'a' // an event was handled, as JSON
)

// receive reads the inbox until it is closed. After each resubscription all followers read again,
// because hints may have been missed.
func (r *Replica) receive(messages <-chan any) {
	defer close(r.ended)
	for m := range messages {
		switch m := m.(type) {
		case *redis.Subscription:
			if m.Channel != r.inboxOf(r.id) {
				continue
			}
			r.forget()
			r.followers.wakeAll("")
			r.returned()
			r.unverified.Store(true)
			r.restoreSecret()
			r.announceHere()
		case *redis.Message:
			switch m.Channel {
			case r.inboxOf(r.id):
				r.message(m.Payload)
			case r.announcements():
				r.announceHere()
			default:
				r.relay.received(m.Payload)
			}
		}
	}
}

// forget drops caches that are invalid after Redis was replaced or has lost its last writes.
func (r *Replica) forget() {
	r.renewals.forget()
	r.followers.forget()
	r.logs.forgetAll()
}

func (r *Replica) message(payload string) {
	if payload == "" {
		return
	}
	body := payload[1:]
	switch payload[0] {
	case wakeMessage:
		r.woken(body)
	case eventMessage:
		var b message
		raw, err := r.seals.open(bindEvent(r.id), body)
		if err == nil && json.Unmarshal(raw, &b) == nil {
			r.onMessage(b)
		}
	case begunMessage:
		r.onBegun(body)
	case ackMessage:
		var a ack
		if json.Unmarshal([]byte(body), &a) == nil {
			r.onAck(a)
		}
	}
}
