package redis

import (
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// cachedEntries and cachedBytes bound what is kept of one stream for its readers here.
	cachedEntries, cachedBytes = 128, 256 << 10
	// logLife is how long a cached log waits for its first reader.
	logLife = 5 * time.Second
)

// cachedLog is the end of a log as this replica wrote it: what Redis has taken, for readers on this replica
// to be spared reading it back. It answers for nothing but the entries it has. Whatever tells of another
// writer, or of writes that were lost, makes it go, and readers ask Redis.
type cachedLog struct {
	epoch medium.Epoch
	// trace is the stream's, as medium.Page has it.
	trace string
	// entries are those up to last, without a gap.
	entries []state.Entry
	last    uint64
	bytes   int
	ended   bool
	// unread: nobody has asked what is in it; unfollowed: the follower that Begin registered in Redis has
	// not come yet.
	unread, unfollowed bool
	since              time.Time
}

// place names a stream.
type place struct{ session, stream string }

// logCache are those of the streams that are written and read here. Safe for concurrent use.
type logCache struct {
	mu sync.Mutex
	m  map[string]map[string]*cachedLog // by session and stream
}

func (x *logCache) init() { x.m = make(map[string]map[string]*cachedLog) }

// drop forgets one; mu is held.
func (x *logCache) drop(at place) {
	streams := x.m[at.session]
	delete(streams, at.stream)
	if len(streams) == 0 {
		delete(x.m, at.session)
	}
}

// begin notes an empty stream that was begun here, under an epoch and with a trace.
func (x *logCache) begin(at place, epoch medium.Epoch, trace string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.m[at.session] == nil {
		x.m[at.session] = make(map[string]*cachedLog)
	}
	x.m[at.session][at.stream] = &cachedLog{epoch: epoch, trace: trace, unread: true, unfollowed: true, since: time.Now()}
}

// follow says that the next follower of a stream is registered in Redis, since the stream was begun here.
func (x *logCache) follow(at place) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at.session][at.stream]
	if t == nil || !t.unfollowed {
		return false
	}
	t.unfollowed = false
	return true
}

// unfollow says that the registration which Begin made has gone, since the stream ended here. The cached log goes
// with the last follower.
func (x *logCache) unfollow(at place, last bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at.session][at.stream]
	if last {
		x.drop(at)
	}
	return t != nil && t.ended
}

// wrote notes entries that Redis took, the last of them as number seq under an epoch.
func (x *logCache) wrote(at place, epoch medium.Epoch, seq uint64, entries []state.Entry, ended bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at.session][at.stream]
	if t == nil {
		return
	}
	if t.epoch != epoch || seq != t.last+uint64(len(entries)) {
		x.drop(at)
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

// forget makes a cached log go.
func (x *logCache) forget(at place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(at)
}

// forgetSession makes the cached logs of a session go.
func (x *logCache) forgetSession(session string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.m, session)
}

// forgetAll is for when Redis may have lost what it took.
func (x *logCache) forgetAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.m)
}

// read returns the page behind a position, if it is cached, or that there is nothing yet in a
// stream which was just begun here. It is for streams that are followed here.
func (x *logCache) read(at place, after medium.Position, most int) (medium.Page, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at.session][at.stream]
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

// sweep forgets the cached logs of streams that nobody came to read.
func (x *logCache) sweep(read func(place) bool) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for session, streams := range x.m {
		for stream, t := range streams {
			if at := (place{session, stream}); now.Sub(t.since) > logLife && !read(at) {
				x.drop(at)
			}
		}
	}
}
