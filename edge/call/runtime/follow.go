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

// missingStreamWait bounds the wait for a missing stream that a replica may restore.
const missingStreamWait = 10 * time.Second

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
	// due is the time of the next read, as the machine has set it.
	due time.Duration
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
	for e := (&call.ReaderEvent{Kind: call.Opened}); ; {
		sent, ok := f.step(ctx, e)
		if f.log.CaughtUp != nil {
			f.log.CaughtUp(f.sent)
			f.log.CaughtUp = nil
		}
		switch {
		case !ok:
			return
		case sent:
			written = f.r.o.Now()
		case f.log.Opens && f.st.KeepAlive() != nil:
			return
		}
		f.log.Opens = false
		pause := f.r.o.KeepAlive - f.r.o.Now().Sub(written)
		if f.polls() {
			pause = min(pause, f.due)
		}
		t.Reset(max(pause, 0))
		switch f.wait(ctx, woken, t.C) {
		case followWoken:
		case followDue:
			if f.r.o.Now().Sub(written) >= f.r.o.KeepAlive {
				if f.st.KeepAlive() != nil {
					return
				}
				written = f.r.o.Now()
			}
		case followClosing:
			f.reconnect()
			return
		case followLeft:
			return
		}
		e = &call.ReaderEvent{Kind: call.Woken}
	}
}

// followed is the event that a follower has waited for.
type followed uint8

const (
	// followWoken: the log may have grown. followDue: the timer has fired.
	followWoken followed = iota
	followDue
	// followClosing: this replica must close the stream. followLeft: the client has disconnected.
	followClosing
	followLeft
)

// wait waits for the next event. Of several that occurred during a read it returns the one that ends
// the stream, or else the growth of the log, so that a history of events has one outcome.
func (f *follower) wait(ctx context.Context, woken <-chan struct{}, due <-chan time.Time) followed {
	var closing <-chan struct{}
	if f.log.Resumable && f.id != "" {
		closing = f.r.closingStreams.c
	}
	switch {
	case f.r.IsClosing(), closing != nil && f.r.closingStreams.sent():
		return followClosing
	case ctx.Err() != nil:
		return followLeft
	case len(woken) > 0:
		<-woken
		return followWoken
	}
	select {
	case <-woken:
		return followWoken
	case <-due:
		return followDue
	case <-ctx.Done():
		return followLeft
	case <-closing:
	case <-f.r.closing.c:
	}
	return followClosing
}

// polls reports whether the log must be polled because no event on this replica announces its
// growth: it could not be read, lacks entries that the client has, or is written by another
// replica.
func (f *follower) polls() bool { return f.unread || f.ahead || !f.r.writes(f.log.Stream) }

// reconnect asks the client to reconnect, and sends the id to resume from.
func (f *follower) reconnect() {
	if f.id != "" {
		_ = f.st.Send(mcp.StreamEvent{ID: f.id, Retry: f.r.o.RetryHint})
	}
}

// step passes the machine an event and carries out its effects until it rests. sent is true if
// something was sent to the client; ok is false once the stream has ended.
func (f *follower) step(ctx context.Context, e *call.ReaderEvent) (sent, ok bool) {
	defer f.releasePage()
	for e != nil {
		f.effects = f.m.Step(e, f.effects[:0])
		e = nil
		for i := range f.effects {
			switch x := &f.effects[i]; x.Kind {
			case call.Read:
				e = f.read(ctx)
			case call.Send:
				ends := i+1 < len(f.effects) && f.effects[i+1].Kind == call.EndStream
				if f.send(x.Entries, x.Unnumbered, ends) != nil {
					return sent, false
				}
				sent = true
			case call.SetTimer:
				f.due = x.After
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

func (f *follower) read(ctx context.Context) *call.ReaderEvent {
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
		return &call.ReaderEvent{Kind: call.HasPage, Page: page}
	case !f.unread:
		release()
		fault = call.Gone // prime failed
	case fault == call.Gone && f.mayReturn():
		fault = call.Unavailable
	case ctx.Err() == nil:
		f.r.failed(err)
	}
	return &call.ReaderEvent{Kind: call.ReadFailed, Fault: fault}
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
