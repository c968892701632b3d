package redis

import (
	"sync"
	"time"
)

// recovery is the longest time until a replica sends heartbeats again after Redis was unavailable:
// probes are probeLast apart, the client reconnects after a second, and heartbeats are a second
// apart.
const recovery = 3 * time.Second

// lapses decides when a missing heartbeat means that its replica is lost. Redis's clock advances
// while Redis is unavailable, and may jump; the heartbeats of live replicas then expire, too. So a
// replica counts missing heartbeats only after a lease in which its own heartbeat did not expire
// and none of its Beats failed, and directly after it has stored a heartbeat. It is safe for
// concurrent use.
type lapses struct {
	mu sync.Mutex
	// from is when missing heartbeats begin to count.
	from time.Time
	// beat is when the last heartbeat that was stored was sent.
	beat time.Time
}

// stored records a stored heartbeat. missing reports that there was none before: it had expired, or
// this is the first.
func (l *lapses) stored(sent time.Time, missing bool, lease time.Duration) {
	if missing {
		l.delay(lease)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beat = sent
}

// delay ignores missing heartbeats for at least d.
func (l *lapses) delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if from := time.Now().Add(d); from.After(l.from) {
		l.from = from
	}
}

// failed records that a Beat of this replica failed.
func (l *lapses) failed(lease time.Duration) { l.delay(max(lease, recovery)) }

// count reports whether missing heartbeats count now.
func (l *lapses) count(lease time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return !now.Before(l.from) && now.Sub(l.beat) <= lease/2
}
