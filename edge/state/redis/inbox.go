package redis

import (
	"encoding/json"

	"github.com/redis/go-redis/v9"
)

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
