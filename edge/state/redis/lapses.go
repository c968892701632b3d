package redis

import (
	"sync"
	"time"
)

// recovery is how long it takes at most until a replica sends heartbeats again to a Redis that was away: probes are
// probeLast apart, the client dials again after a second, and a heartbeat is due each second.
const recovery = 3 * time.Second

// lapses decides when a missing heartbeat means that its replica is lost. Redis's clock goes on while Redis is away, or
// leaps, and then the heartbeats of replicas that live expire, too. So a replica trusts that others are lost only if they
// could have beaten for a lease: its own heartbeat did not expire, and none of its Beats has failed, for that long, and
// its last heartbeat was stored just now. It is safe for concurrent use.
type lapses struct {
	mu sync.Mutex
	// from is when missing heartbeats begin to count.
	from time.Time
	// beat is when the last heartbeat that was stored was sent.
	beat time.Time
}

// stored records that a heartbeat was stored, and whether the one before was missing: it had expired, or this is the
// first.
func (l *lapses) stored(sent time.Time, missing bool, lease time.Duration) {
	if missing {
		l.delay(lease)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beat = sent
}

// delay makes missing heartbeats count no earlier than after d.
func (l *lapses) delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if from := time.Now().Add(d); from.After(l.from) {
		l.from = from
	}
}

// failed records that a Beat of this replica failed.
func (l *lapses) failed(lease time.Duration) { l.delay(max(lease, recovery)) }

// count reports whether heartbeats count that are missing now.
func (l *lapses) count(lease time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return !now.Before(l.from) && now.Sub(l.beat) <= lease/2
}
