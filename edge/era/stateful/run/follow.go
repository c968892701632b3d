package run

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Log names what a reader follows.
type Log struct {
	Session, Stream string
	// After is the position behind which it begins; zero: at the beginning.
	After medium.Position
	// Prime: the stream begins with an event that has an id and no data.
	Prime bool
	// Parts: the stream is closed with Options.Parting.
	Parts bool
	// Opens: the stream has just been begun and opened, and something is to be written at once.
	Opens bool
	// Answered is called before a response is sent; nil: nothing is.
	Answered func()
	// CaughtUp is told, once, how many events were there at first; nil: nobody is.
	CaughtUp func(sent int)
	// Read reads a page. What it is charged with is held until release is called, after the page was sent; nil: the store's
	// Read does, and nothing is charged.
	Read func(ctx context.Context, after medium.Position) (_ medium.Page, release func(), _ error)
}

// lostFor is how long a stream that is not there is waited for, if somebody may restore it.
const lostFor = 10 * time.Second

// Follow sends a log to a client until it has ended, the client has left (ctx, or an error of the stream), or the
// replica closes. What the store does not have for now is waited for.
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
	// due is when the log is read again, by the machine's word.
	due time.Duration
	// lostSince is when the stream was not there for the first time; found: it was there once.
	lostSince time.Time
	isLost    bool
	found     bool
	// unread: the last reading failed.
	unread  bool
	effects []call.Effect
	// release ends what the page that is being sent is charged with; nil: there is none.
	release func()
	// sent counts events; ahead: the log does not reach what the client knows.
	sent  int
	ahead bool
	// id is the last that the client was sent; empty: none.
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
	told := f.r.o.Now()
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
			told = f.r.o.Now()
		case f.log.Opens && f.st.KeepAlive() != nil:
			return
		}
		f.log.Opens = false
		pause := f.r.o.KeepAlive - f.r.o.Now().Sub(told)
		if f.polls() {
			pause = min(pause, f.due)
		}
		t.Reset(max(pause, 0))
		var parting <-chan struct{}
		if f.log.Parts && f.id != "" {
			parting = f.r.o.Parting
		}
		select {
		case <-woken:
		case <-t.C:
			if f.r.o.Now().Sub(told) >= f.r.o.KeepAlive {
				if f.st.KeepAlive() != nil {
					return
				}
				told = f.r.o.Now()
			}
		case <-ctx.Done():
			return
		case <-parting:
			f.comeBack()
			return
		case <-f.r.closing:
			f.comeBack()
			return
		}
		e = &call.ReaderEvent{Kind: call.Woken}
	}
}

// polls says whether the log is to be read again though nobody here tells that it has grown: it could not be read, has lost
// what the client knows, or is another replica's to write.
func (f *follower) polls() bool { return f.unread || f.ahead || !f.r.writes(f.log.Stream) }

// comeBack asks the client to reconnect, with the id to come back with.
func (f *follower) comeBack() {
	if f.id != "" {
		_ = f.st.Send(mcp.StreamEvent{ID: f.id, Retry: f.r.o.RetryHint})
	}
}

// step gives the machine an event and does what comes of it, until it rests. sent: the client was sent something; !ok: the
// stream has ended.
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

// releasePage ends what the page is charged with that was sent.
func (f *follower) releasePage() {
	if f.release != nil {
		f.release()
		f.release = nil
	}
}

func (f *follower) read(ctx context.Context) *call.ReaderEvent {
	f.releasePage()
	rctx, cancel := context.WithTimeout(ctx, f.r.o.Timeout)
	page, release, err := f.log.Read(rctx, f.m.Position())
	cancel()
	fault := call.FaultOf(err)
	f.unread = fault != call.NoFault
	switch {
	case !f.unread && f.prime(&page):
		f.isLost, f.found, f.release = false, true, release
		if page.Ahead && !f.ahead {
			f.r.count.Rollbacks.Add(1)
		}
		f.ahead = page.Ahead
		return &call.ReaderEvent{Kind: call.HasPage, Page: page}
	case !f.unread:
		release()
		fault = call.Gone // nobody reads
	case fault == call.Gone && f.waits():
		fault = call.Unavailable
	case ctx.Err() == nil:
		f.r.failed(err)
	}
	return &call.ReaderEvent{Kind: call.ReadFailed, Fault: fault}
}

// prime sends the event that has only an id, once it is known under which epoch. How long to wait before coming back is said where the stream
// is closed for it alone: there are clients that fail at a retry line.
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

// waits says whether a stream that is not there may come back: it was there, or the store has lost writes of late.
func (f *follower) waits() bool {
	now := f.r.o.Now()
	if !f.isLost {
		f.isLost, f.lostSince = true, now
	}
	return now.Sub(f.lostSince) < lostFor && (f.found || f.r.WasAway())
}

// WasAway says whether the store was away of late, so that what it does not have may be restored.
func (r *Replica) WasAway() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasBack && r.now()-r.back < lostFor
}

// send sends entries, all of them at once where that is possible.
func (f *follower) send(entries []medium.Entry, unnumbered, ends bool) error {
	for i := range entries {
		if entries[i].Kind == state.EntryResponse && f.log.Answered != nil {
			f.log.Answered()
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
