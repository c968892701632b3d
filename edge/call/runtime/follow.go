package runtime

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Log describes the log that a reader follows.
type Log struct {
	Session, Stream string
	// After is the position after which reading begins. Zero begins at the start.
	After medium.Position
	// Prime begins the stream with an event that has an id and no data.
	Prime bool
	// Resumable closes the stream with Replica.CloseStreams.
	Resumable bool
	// Opens marks a stream that has just begun and whose first entry is about to be written.
	Opens bool
	// Responding is called before a response is sent. It may be nil.
	Responding func()
	// CaughtUp is called once with the number of events that existed at the start. It may be nil.
	CaughtUp func(sent int)
	// Read reads a page. Its charged memory is held until release is called, after the page was
	// sent. nil reads from the store and charges nothing.
	Read func(ctx context.Context, after medium.Position) (_ medium.Page, release func(), _ error)
}

const (
	// missingStreamWait bounds the wait for a missing stream that a replica may restore.
	missingStreamWait = 10 * time.Second
	// readPause is the interval at which a log is read whose growth is not announced.
	readPause = time.Second
)

// Follow sends a log to a client until the log ends, the client disconnects (ctx is done, or the
// stream fails), or the replica closes. It waits for entries that the store currently lacks.
func (r *Replica) Follow(ctx context.Context, st mcp.Stream, l Log) {
	r.count.Streams.Add(1)
	defer r.count.Streams.Add(-1)
	f := follower{r: r, st: st, log: l, m: call.NewReader(l.After), found: l.Opens}
	if l.After != (medium.Position{}) {
		f.id = l.After.EventID(l.Stream)
	}
	if l.Read == nil {
		f.log.Read = func(ctx context.Context, after medium.Position) (medium.Page, func(), error) {
			page, err := r.store.Read(ctx, l.Session, l.Stream, after, 0)
			return page, func() {}, err
		}
	}
	f.run(ctx)
}

// follower is one reader and its client.
type follower struct {
	r   *Replica
	st  mcp.Stream
	log Log
	m   *call.Reader
	// lostSince is when the stream was first missing; zero means that it is not. found is true if
	// it ever existed.
	lostSince time.Time
	found     bool
	// unread is true if the last read failed.
	unread  bool
	effects []call.Effect
	// release releases the memory charged for the page being sent. It may be nil.
	release func()
	// sent counts events. ahead is true if the client has entries that the log lacks.
	sent  int
	ahead bool
	// id is the last id sent to the client. Empty means that there is none.
	id string
}

func (f *follower) run(ctx context.Context) {
	woken := make(chan struct{}, 1)
	stop := f.r.store.Follow(f.log.Session, f.log.Stream, func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	defer stop()
	t := f.r.timer(f.r.o.KeepAlive)
	defer f.r.putTimer(t)
	written := f.r.o.Now()
	for {
		sent, ok := f.step(ctx)
		if f.log.CaughtUp != nil {
			f.log.CaughtUp(f.sent)
			f.log.CaughtUp = nil
		}
		if !ok {
			return
		}
		now := f.r.o.Now()
		if sent {
			written = now
		} else if f.log.Opens || now.Sub(written) >= f.r.o.KeepAlive {
			if f.st.KeepAlive() != nil {
				return
			}
			written = now
		}
		f.log.Opens = false
		pause := f.r.o.KeepAlive - now.Sub(written)
		if f.polls() {
			pause = min(pause, readPause)
		}
		t.Reset(pause)
		if !f.wait(ctx, woken, t.C) {
			return
		}
	}
}

// wait waits until the log may have grown or due fires. It returns false if the stream ends instead: the
// client has disconnected, or this replica must close the stream and sends the id to resume from. Of
// several events that occurred during a read, one that ends the stream counts, so that a history of
// events has one outcome.
func (f *follower) wait(ctx context.Context, woken <-chan struct{}, due <-chan time.Time) bool {
	var closing <-chan struct{}
	if f.log.Resumable && f.id != "" {
		closing = f.r.streaming.Done()
	}
	select {
	case <-woken:
	case <-due:
	case <-ctx.Done():
	case <-closing:
	case <-f.r.unclosed.Done():
	}
	select {
	case <-woken: // due may have been chosen.
	default:
	}
	if f.r.IsClosing() || closing != nil && f.r.streaming.Err() != nil {
		if f.id != "" {
			_ = f.st.Send(mcp.StreamEvent{ID: f.id, Retry: f.r.o.RetryHint})
		}
		return false
	}
	return ctx.Err() == nil
}

// polls reports whether the log must be polled because no event on this replica announces its
// growth: it could not be read, lacks entries that the client has, or is written by another
// replica.
func (f *follower) polls() bool { return f.unread || f.ahead || !f.r.writes(f.log.Stream) }

// step reads the log and sends its new entries, until the machine has no further read. sent is true if
// something was sent to the client; ok is false once the stream has ended.
func (f *follower) step(ctx context.Context) (sent, ok bool) {
	defer f.releasePage()
	for reads := true; reads; {
		reads = false
		page, fault := f.read(ctx)
		f.effects = f.m.Step(&page, fault, f.effects[:0])
		for i := range f.effects {
			switch x := &f.effects[i]; x.Kind {
			case call.Read:
				reads = true
			case call.Send:
				ends := i+1 < len(f.effects) && f.effects[i+1].Kind == call.EndStream
				if f.send(x.Entries, x.Unnumbered, ends) != nil {
					return sent, false
				}
				sent = true
			case call.EndStream:
				return sent, false
			}
		}
		if ctx.Err() != nil {
			return sent, false
		}
	}
	return sent, true
}

// releasePage releases the memory charged for the page that was sent.
func (f *follower) releasePage() {
	if f.release != nil {
		f.release()
		f.release = nil
	}
}

func (f *follower) read(ctx context.Context) (medium.Page, call.Fault) {
	f.releasePage()
	rctx, cancel := context.WithTimeout(ctx, state.Timeout)
	page, release, err := f.log.Read(rctx, f.m.Position())
	cancel()
	fault := call.FaultOf(err)
	f.unread = fault != call.NoFault
	switch {
	case !f.unread && f.prime(&page):
		f.lostSince, f.found, f.release = time.Time{}, true, release
		if page.Ahead && !f.ahead {
			f.r.count.Rollbacks.Add(1)
		}
		f.ahead = page.Ahead
		return page, call.NoFault
	case !f.unread:
		release()
		fault = call.Gone // prime failed
	case fault == call.Gone && f.mayReturn():
		fault = call.Unavailable
	case ctx.Err() == nil:
		f.r.failed(err)
	}
	return medium.Page{}, fault
}

// prime sends the event that has only an id, once the epoch is known. The retry time is sent alone,
// when the stream is closed: some clients fail at a retry line.
func (f *follower) prime(p *medium.Page) bool {
	if !f.log.Prime {
		return true
	}
	f.log.Prime, f.log.Opens = false, false
	at := f.m.Position()
	if at == (medium.Position{}) {
		at.Epoch = p.Last.Epoch
		if len(p.Entries) > 0 {
			at.Epoch = p.Entries[0].Epoch
		}
	}
	f.id = at.EventID(f.log.Stream)
	return f.st.Send(mcp.StreamEvent{ID: f.id, More: len(p.Entries) > 0}) == nil
}

// mayReturn reports whether a missing stream may return: it existed before, or the store was recently
// unavailable.
func (f *follower) mayReturn() bool {
	now := f.r.o.Now()
	if f.lostSince.IsZero() {
		f.lostSince = now
	}
	return now.Sub(f.lostSince) < missingStreamWait && (f.found || f.r.StoreWasUnavailable())
}

// StoreWasUnavailable reports whether the store was recently unavailable, so that missing data may be restored.
func (r *Replica) StoreWasUnavailable() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()-r.back < missingStreamWait
}

// send sends entries, together if possible.
func (f *follower) send(entries []medium.Entry, unnumbered, ends bool) error {
	for i := range entries {
		if entries[i].Kind == state.EntryResponse && f.log.Responding != nil {
			f.log.Responding()
		}
		ev := mcp.StreamEvent{Data: entries[i].Data, More: i+1 < len(entries) || ends}
		if !unnumbered {
			ev.ID = entries[i].Position().EventID(f.log.Stream)
			f.id = ev.ID
		}
		if err := f.st.Send(ev); err != nil {
			return err
		}
		f.sent++
	}
	return nil
}
