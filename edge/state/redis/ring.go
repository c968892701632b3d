package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// ringWait is how long a bell waits for its handlers.
	ringWait = 250 * time.Millisecond
	// maxBells bounds the handlers of one replica that run at once; a bell beyond is lost.
	maxBells = 256
)

// bell is a state.Bell on its way to an inbox.
type bell struct {
	Bell state.Bell
	// Ring names the ringing, From who waits for the ack.
	Ring, From string
}

// ack tells that a replica handled a bell.
type ack struct{ Ring, Replica string }

// rings are the ringings that wait for acks.
type rings struct {
	mu      sync.Mutex
	waiting map[string]chan string
}

func (x *rings) init() { x.waiting = make(map[string]chan string) }

// begin returns where the acks of a ringing arrive, one per replica at the most.
func (x *rings) begin(ring string, n int) <-chan string {
	x.mu.Lock()
	defer x.mu.Unlock()
	ch := make(chan string, 2*n)
	x.waiting[ring] = ch
	return ch
}

func (x *rings) end(ring string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.waiting, ring)
}

func (x *rings) handled(a ack) {
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case x.waiting[a.Ring] <- a.Replica:
	default:
	}
}

// Answering implements state.Bus.
func (r *Replica) Answering(fn func(state.Bell)) { r.answer.Store(&fn) }

// Ring implements state.Bus. A replica that gives no sign of life is rung, but not waited for.
func (r *Replica) Ring(ctx context.Context, b state.Bell) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	late := time.NewTimer(ringWait)
	defer late.Stop()
	holders, err := r.holders(ctx, b.Session)
	if err != nil || len(holders) == 0 {
		return err
	}
	ring := rand.Text()
	acks := r.rings.begin(ring, len(holders))
	defer r.rings.end(ring)
	waiting, err := r.publish(ctx, holders, bell{Bell: b, Ring: ring, From: r.id})
	if err != nil {
		return err
	}
	for len(waiting) > 0 {
		select {
		case replica := <-acks:
			delete(waiting, replica)
		case <-late.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// holders are the other replicas that hold a session, or held it until a moment ago.
func (r *Replica) holders(ctx context.Context, id string) ([]string, error) {
	var hold, held *redis.StringSliceCmd
	err := r.pipe(ctx, func(p redis.Pipeliner) {
		hold = p.ZRange(ctx, r.session(id)+":h", 0, -1)
		held = p.ZRange(ctx, r.session(id)+":x", 0, -1)
	})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	list := hold.Val()
	if len(list) == 0 {
		list = held.Val()
	}
	var out []string
	for _, h := range list {
		if h != r.id {
			out = append(out, h)
		}
	}
	return out, nil
}

// publish sends a bell and returns those of the holders that live.
func (r *Replica) publish(ctx context.Context, holders []string, b bell) (map[string]bool, error) {
	body, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	alive := make([]*redis.IntCmd, len(holders))
	err = r.pipe(ctx, func(p redis.Pipeliner) {
		for i, h := range holders {
			alive[i] = p.Exists(ctx, r.heartbeat(h))
			p.Publish(ctx, r.inboxOf(h), string(bellMessage)+string(body))
		}
	})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	out := map[string]bool{}
	for i, h := range holders {
		if alive[i].Val() > 0 {
			out[h] = true
		}
	}
	return out, nil
}

// rung runs the handler of a bell, and tells who rang when it is done; without a handler at once. With
// too many that run, the bell is lost. Who left is not waited for and holds nothing any more.
func (r *Replica) rung(b bell) {
	if r.left.Load() {
		return
	}
	fn := r.answer.Load()
	select {
	case r.handlers <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-r.handlers }()
		if fn != nil {
			(*fn)(b.Bell)
		}
		body, err := json.Marshal(ack{Ring: b.Ring, Replica: r.id})
		if err != nil {
			return
		}
		ctx, cancel := aside(context.Background())
		defer cancel()
		// A lost ack costs its ringer the rest of 250 ms.
		_ = r.pipe(ctx, func(p redis.Pipeliner) { p.Publish(ctx, r.inboxOf(b.From), string(ackMessage)+string(body)) })
	}()
}

// returned tells this replica that Redis was away. It does not wait for what comes of it.
func (r *Replica) returned() {
	fn := r.answer.Load()
	if fn == nil || r.left.Load() {
		return
	}
	select {
	case r.handlers <- struct{}{}:
		go func() {
			defer func() { <-r.handlers }()
			(*fn)(state.Bell{Kind: state.BellReturned})
		}()
	default: // So many are under way that what this one is for is.
	}
}
