package stateful

import (
	"context"
	"net/netip"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
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
func (c *execution) charge() error {
	n := len(c.call.Params.Raw)
	if n <= smallParams {
		return nil
	}
	if err := c.memory.Grow(budget.Calls, copies*int64(n)); err != nil {
		return mcp.Overloaded(err)
	}
	return nil
}

// holder is who is charged with what goes on for the session.
func (s *localSession) holder(e *Era) *budget.Holder {
	if h := s.payer.Load(); h != nil {
		return h
	}
	return mcp.HolderOf(e.o.Memory, s.rec.Load().Principal, netip.Addr{})
}

// chargeCopy charges the copy of a session with a record. s.mu is locked.
func (s *localSession) chargeCopy(e *Era, rec *record) {
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
func (s *localSession) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	s.memory.Release()
}

// pages reads the pages of a log for one client, and charges a holder with each until it was sent.
type pages struct {
	e               *Era
	session, stream string
	holder          *budget.Holder
	// memory is what is being sent, and permit what it was read with.
	memory budget.Reservation
	permit *budget.Permit
}

// read reads a page (run.Log). Where there is no room for it, it lets go of the page and waits, as for a result that was never
// measured: so one stream at a time is sent, and frees its log, though all memory is held by logs. Then it reads the
// page again.
func (p *pages) read(ctx context.Context, after medium.Position) (medium.Page, func(), error) {
	page, err := p.e.store.Read(ctx, p.session, p.stream, after, 0)
	if err != nil {
		return medium.Page{}, nil, err
	}
	n := p.bytes(&page)
	if p.memory.Try(budget.Streams, n) {
		return page, p.release, nil
	}
	page = medium.Page{}
	if p.permit, err = p.holder.Permit(ctx, budget.Streams, n, false); err != nil {
		return medium.Page{}, nil, err
	}
	if page, err = p.e.store.Read(ctx, p.session, p.stream, after, 0); err != nil {
		p.release()
		return medium.Page{}, nil, err
	}
	p.memory.Settle(budget.Streams, p.bytes(&page))
	return page, p.release, nil
}

// bytes is what is held until a page has been sent; 0: little.
func (p *pages) bytes(page *medium.Page) int64 {
	total, largest := 0, 0
	for i := range page.Entries {
		n := len(page.Entries[i].Data)
		total += n
		largest = max(largest, n)
	}
	n := framed * largest
	if p.e.o.ChargeCopies { // the page is one
		n += total
	}
	if n <= smallPage {
		return 0
	}
	return int64(n)
}

// release releases what was reserved for a page.
func (p *pages) release() {
	p.memory.Release()
	p.permit.Release()
	p.permit = nil
}
