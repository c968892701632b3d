package stateful

import (
	"context"
	"net/netip"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// smallParams are part of what the request is charged with.
	smallParams = 8 << 10
	// copies of larger ones are made: the call's own, and the backend's message.
	copies = 2
	// smallPage is part of what a stream is charged with.
	smallPage = 64 << 10
	// framed is how many times the size of an event are in memory until the client has read it, beside the log: it is
	// copied into a buffer that grows.
	framed = 2
	// copyBytes is what a held copy of a session takes beside what its client said.
	copyBytes = 2 << 10
)

// admit says whether there is room for what a message begins. A message that may make room has it always.
func admit(in *mcp.Incoming, kind jsonrpc.Kind, method string) *mcp.Error {
	if kind != jsonrpc.Request || mcp.Method(method) == mcp.MethodPing || mcp.Method(method) == mcp.MethodUnsubscribe {
		return nil
	}
	if err := in.Memory.Check(); err != nil {
		return mcp.Overloaded(err)
	}
	return nil
}

// charge charges a call that came in a request with the copies of its params.
func (r *run) charge() error {
	n := len(r.call.Params.Raw)
	if n <= smallParams {
		n = 0
	}
	r.call.Memory = &r.memory
	if err := r.memory.Grow(budget.Calls, copies*int64(n)); err != nil {
		return mcp.Overloaded(err)
	}
	return nil
}

// chargeClaimed charges a call that is gone on with: it was admitted when it began.
func (r *run) chargeClaimed() {
	r.memory = r.s.holder(r.e).Begin()
	r.memory.Force(budget.Calls, copies*int64(len(r.call.Params.Raw)))
	r.call.Memory = &r.memory
}

// releaseMemory is for when the run has ended, unless the exchange has still to write its outcome: then it is the
// exchange's to release, by releaseKept.
func (r *run) releaseMemory() {
	g := r.group
	if g == nil {
		r.memory.Release()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !r.kept || g.ended {
		r.memory.Release()
	}
}

// releaseKept releases what its calls hold until their outcomes are written. The exchange has ended.
func (g *group) releaseKept() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	for _, r := range g.runs {
		if r.kept {
			r.memory.Release()
		}
	}
}

// holder is who is charged with what goes on for the session.
func (s *held) holder(e *Era) *budget.Holder {
	if h := s.payer.Load(); h != nil {
		return h
	}
	return mcp.HolderOf(e.o.Memory, s.rec.Load().Principal, netip.Addr{})
}

// chargeCopy charges the copy of a session with a record. s.mu is locked.
func (s *held) chargeCopy(e *Era, rec *record) {
	if !e.o.ChargeCopies || s.forgotten {
		return
	}
	if s.memory.Holder() == nil {
		h := s.payer.Load()
		if h == nil {
			h = mcp.HolderOf(e.o.Memory, rec.Principal, netip.Addr{})
		}
		s.memory = h.Begin()
	}
	n := copyBytes + len(rec.ClientInfo) + len(rec.Capabilities)
	for _, uri := range rec.Subscriptions {
		n += len(uri)
	}
	s.memory.Settle(budget.Sessions, int64(n))
}

// forget releases what the copy held.
func (s *held) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	s.memory.Release()
}

// reservePage charges the follower with a page that it has read and is about to send. Where there is no room, it lets go of
// the page and waits, as for a result that was never measured: so one stream at a time is sent, and frees its log,
// though all memory is held by logs. Then it reads the page again. False: there was no room in time, or the page is gone.
func (f *follower) reservePage(ctx context.Context, pos state.Position, page *state.Page) bool {
	n := f.pageBytes(page)
	if f.memory.Try(budget.Streams, n) {
		return true
	}
	*page = state.Page{}
	wctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	var err error
	if f.permit, err = f.holder.Permit(wctx, budget.Streams, n, false); err != nil {
		return false
	}
	if *page, err = f.e.store.Read(wctx, f.s.id, pos, 0); err != nil {
		f.releasePage()
		return false
	}
	f.memory.Settle(budget.Streams, f.pageBytes(page))
	return true
}

// pageBytes is what is held until a page has been sent, in bytes; 0: little.
func (f *follower) pageBytes(page *state.Page) int64 {
	total, largest := 0, 0
	for i := range page.Entries {
		n := len(page.Entries[i].Data)
		total += n
		largest = max(largest, n)
	}
	n := framed * largest
	if f.e.o.ChargeCopies { // the page is one
		n += total
	}
	if n <= smallPage {
		return 0
	}
	return int64(n)
}

// releasePage releases what was reserved for a page.
func (f *follower) releasePage() {
	f.memory.Release()
	f.permit.Release()
	f.permit = nil
}
