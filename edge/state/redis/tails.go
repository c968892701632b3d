package redis

import (
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// tailEntries and tailBytes bound what is kept of one stream for its readers here.
	tailEntries, tailBytes = 128, 256 << 10
	// tailLife is how long a tail waits for its first reader.
	tailLife = 5 * time.Second
)

// A tail is the end of a log as this replica wrote it: what Redis has taken, for readers on this replica
// to be spared reading it back. It answers for nothing but the entries it has. Whatever tells of another
// writer, or of writes that were lost, makes it go, and readers ask Redis.
type tail struct {
	epoch uint64
	// trace is the stream's, as state.Page has it.
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

// tails are those of the streams that are written and read here. Safe for concurrent use.
type tails struct {
	mu sync.Mutex
	m  map[string]map[string]*tail // by session and stream
}

func (x *tails) init() { x.m = make(map[string]map[string]*tail) }

// drop forgets one; mu is held.
func (x *tails) drop(at place) {
	streams := x.m[at.session]
	delete(streams, at.stream)
	if len(streams) == 0 {
		delete(x.m, at.session)
	}
}

// begin notes an empty stream that was begun here, with a trace.
func (x *tails) begin(at place, trace string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.m[at.session] == nil {
		x.m[at.session] = make(map[string]*tail)
	}
	x.m[at.session][at.stream] = &tail{epoch: state.FirstEpoch, trace: trace, unread: true, unfollowed: true, since: time.Now()}
}

// follow says that the next follower of a stream is registered in Redis, since the stream was begun here.
func (x *tails) follow(at place) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at.session][at.stream]
	if t == nil || !t.unfollowed {
		return false
	}
	t.unfollowed = false
	return true
}

// unfollow says that the registration which Begin made has gone, since the stream ended here. The tail goes
// with the last follower.
func (x *tails) unfollow(at place, last bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at.session][at.stream]
	if last {
		x.drop(at)
	}
	return t != nil && t.ended
}

// wrote notes entries that Redis took, the last of them as number seq under an epoch.
func (x *tails) wrote(at place, epoch, seq uint64, entries []state.Entry, ended bool) {
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
	for len(t.entries) > tailEntries || t.bytes > tailBytes && len(t.entries) > 0 {
		t.bytes -= len(t.entries[0].Data)
		t.entries = t.entries[1:]
	}
}

// forget makes a tail go.
func (x *tails) forget(at place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(at)
}

// forgetSession makes the tails of a session go.
func (x *tails) forgetSession(session string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.m, session)
}

// forgetAll is for when Redis may have lost what it took.
func (x *tails) forgetAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.m)
}

// read returns the entries after a position, if the tail has them, or that there are none yet in a
// stream which was just begun here. It is for streams that are followed here.
func (x *tails) read(at place, after state.Position, most int) (state.Page, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.m[at.session][at.stream]
	if t == nil || t.unfollowed || after.Epoch != t.epoch && !(after.Epoch == 0 && after.Seq == 0) {
		return state.Page{}, false
	}
	first := t.last - uint64(len(t.entries)) + 1
	switch {
	case t.unread && t.last == 0 && after.Seq == 0:
		t.unread = false
		return state.Page{Epoch: t.epoch, Trace: t.trace, AtEnd: true}, true
	case after.Seq >= t.last, after.Seq+1 < first:
		return state.Page{}, false
	}
	entries := t.entries[after.Seq+1-first:]
	all := len(entries) <= most
	if !all {
		entries = entries[:most]
	}
	return state.Page{Entries: append([]state.Entry(nil), entries...), Epoch: t.epoch, Trace: t.trace, AtEnd: all, Ended: all && t.ended}, true
}

// sweep forgets the tails of streams that nobody came to read.
func (x *tails) sweep(read func(place) bool) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for session, streams := range x.m {
		for stream, t := range streams {
			if at := (place{session, stream}); now.Sub(t.since) > tailLife && !read(at) {
				x.drop(at)
			}
		}
	}
}
