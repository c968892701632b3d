package redis

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// health records whether Redis responds and stores heartbeats, and since when. It is safe for
// concurrent use.
type health struct {
	log *slog.Logger
	mu  sync.Mutex
	// beating means that the last heartbeat was stored, and no breaker has opened since.
	beating bool
	// open is the number of open breakers.
	open  int
	since time.Time
	// was means that it was healthy before.
	was bool
	// cause is why it is not healthy, if that is known.
	cause error
}

func (h *health) healthy() bool { return h.beating && h.open == 0 }

// change applies a change and notes the time if it is one of healthy. It logs that health came back.
func (h *health) change(apply func()) {
	h.mu.Lock()
	before := h.healthy()
	apply()
	now := h.healthy()
	if now != before {
		h.since = time.Now()
	}
	back := now && !before && h.was
	if now {
		h.was, h.cause = true, nil
	}
	h.mu.Unlock()
	if back {
		h.log.Info("Redis can be used again")
	}
}

// stored records that a heartbeat was stored.
func (h *health) stored() { h.change(func() { h.beating = true }) }

// failed records that a heartbeat could not be stored, or that Redis cannot be used at the start.
func (h *health) failed(err error) {
	h.change(func() {
		h.beating = false
		// The error that opened a breaker is more specific.
		if h.cause == nil || !errors.Is(err, errBreakerOpen) {
			h.cause = err
		}
	})
}

// breakerOpened records that a breaker opened because of an error.
func (h *health) breakerOpened(err error) {
	h.change(func() {
		h.open++
		h.beating, h.cause = false, err
	})
}

// breakerClosed records that a breaker closed.
func (h *health) breakerClosed() { h.change(func() { h.open-- }) }

// read returns whether Redis is healthy, since when, and why it is not.
func (h *health) read() (healthy bool, since time.Time, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.healthy(), h.since, h.cause
}

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
