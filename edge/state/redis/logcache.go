package redis

import (
	"maps"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// cachedEntries and cachedBytes bound the cached part of one stream for its readers here.
	cachedEntries, cachedBytes = 128, 256 << 10
	// logLife is the time for which a cached log waits for its first reader.
	logLife = 5 * time.Second
)

// cachedLog caches the end of a log as this replica wrote it to Redis, so that readers on this
// replica need not read it back. It answers only for the entries that it has. Any sign of another
// writer or of lost writes drops it, and readers ask Redis.
type cachedLog struct {
	epoch medium.Epoch
	// trace is the stream's trace, as in medium.Page.
	trace string
	// entries are the entries up to last, without a gap.
	entries []state.Entry
	last    uint64
	bytes   int
	ended   bool
	// unread is true if the log was never read. unfollowed is true if the follower that Commit
	// registered in Redis has not arrived yet.
	unread, unfollowed bool
	since              time.Time
}

// place names a stream by the key of its session.
type place struct{ session, stream string }

func (r *Replica) place(session, stream string) place { return place{r.session(session), stream} }

// logCache has the cached logs of the streams written and read here. It is safe for concurrent use.
type logCache struct {
	mu sync.Mutex
	m  map[place]*cachedLog
}

// begin adds an empty stream that began here, under an epoch and with a trace.
func (x *logCache) begin(at place, epoch medium.Epoch, trace string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.m[at] = &cachedLog{epoch: epoch, trace: trace, unread: true, unfollowed: true, since: time.Now()}
}

// follow reports whether the next follower of a stream is registered in Redis already, because the
// stream began here.
func (x *logCache) follow(at place) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at]
	if t == nil || !t.unfollowed {
		return false
	}
	t.unfollowed = false
	return true
}

// unfollow reports whether the registration that Commit made is gone, because the stream ended
// here. The cached log is dropped with the last follower.
func (x *logCache) unfollow(at place, last bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at]
	if last {
		delete(x.m, at)
	}
	return t != nil && t.ended
}

// wrote adds entries that Redis has taken under an epoch; the last of them has number seq.
func (x *logCache) wrote(at place, epoch medium.Epoch, seq uint64, entries []state.Entry, ended bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at]
	if t == nil {
		return
	}
	if t.epoch != epoch || seq != t.last+uint64(len(entries)) {
		delete(x.m, at)
		return
	}
	for _, e := range entries {
		t.last++
		e.Seq = t.last
		t.bytes += len(e.Data)
		t.entries = append(t.entries, e)
	}
	t.ended = ended
	for len(t.entries) > cachedEntries || t.bytes > cachedBytes && len(t.entries) > 0 {
		t.bytes -= len(t.entries[0].Data)
		t.entries = t.entries[1:]
	}
}

// forget drops a cached log.
func (x *logCache) forget(at place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.m, at)
}

// forgetSession drops the cached logs of a session.
func (x *logCache) forgetSession(session string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.m, func(at place, _ *cachedLog) bool { return at.session == session })
}

// forgetAll drops all cached logs, because Redis may have lost writes.
func (x *logCache) forgetAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.m)
}

// read returns the page after a position if it is cached, or an empty page of a stream that has
// just begun here. It is for streams that are followed here.
func (x *logCache) read(at place, after medium.Position, most int) (medium.Page, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at]
	if t == nil || t.unfollowed || after.Epoch != t.epoch && after != (medium.Position{}) {
		return medium.Page{}, false
	}
	first := t.last - uint64(len(t.entries)) + 1
	page := medium.Page{Trace: t.trace, Last: medium.Position{Epoch: t.epoch, Seq: t.last}}
	switch {
	case t.unread && t.last == 0 && after.Seq == 0:
		t.unread = false
		return page, true
	case after.Seq >= t.last, after.Seq+1 < first:
		return medium.Page{}, false
	}
	entries := t.entries[after.Seq+1-first:]
	if page.More = len(entries) > most; page.More {
		entries = entries[:most]
	}
	page.Ended = t.ended && !page.More
	for _, e := range entries {
		page.Entries = append(page.Entries, medium.Entry{Epoch: t.epoch, Entry: e})
	}
	return page, true
}

// sweep drops the cached logs of streams without a reader.
func (x *logCache) sweep(read func(place) bool) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.m, func(at place, t *cachedLog) bool { return now.Sub(t.since) > logLife && !read(at) })
}
