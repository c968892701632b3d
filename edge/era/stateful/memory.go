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
	// smallParams is the size of params up to which the request's charge covers them.
	smallParams = 8 << 10
	// copies is how often larger params are copied: for the call, and in the backend's message.
	copies = 2
	// smallPage is the size of a page up to which the stream's charge covers it.
	smallPage = 64 << 10
	// framed is how many times the size of an event is in memory, beside the log, until the client
	// has read it: it is copied into a buffer that grows.
	framed = 2
	// copyBytes is the size of a held copy of a session, beside what its client sent.
	copyBytes = 2 << 10
)

// admit returns an error if there is no memory for what a message begins. Messages that may free
// memory are always admitted.
func admit(in *mcp.Incoming, kind jsonrpc.Kind, method string) *mcp.Error {
	if kind != jsonrpc.Request || mcp.Method(method) == mcp.MethodPing || mcp.Method(method) == mcp.MethodUnsubscribe {
		return nil
	}
	if err := in.Memory.Check(); err != nil {
		return mcp.Overloaded(err)
	}
	return nil
}

// charge charges a call for the copies of its params.
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

// holder returns who is charged for the work of the session.
func (s *localSession) holder(e *Era) *budget.Holder {
	if h := s.payer.Load(); h != nil {
		return h
	}
	return mcp.HolderOf(e.o.Memory, s.rec.Load().Principal, netip.Addr{})
}

// chargeCopy charges the copy of a session with a record. The caller holds s.mu.
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

// forget releases what the copy was charged.
func (s *localSession) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	s.memory.Release()
}

// pages reads the pages of a log for one client. Each is charged to a holder until it was sent.
type pages struct {
	e               *Era
	session, stream string
	holder          *budget.Holder
	// memory is the charge for the page being sent, permit its permission to be read.
	memory budget.Reservation
	permit *budget.Permit
}

// read reads a page (run.Log). If there is no memory for it, it drops the page and waits for a
// permit, as for a result of unknown size; then it reads the page again. So one stream at a time is
// sent and frees its log, even if logs hold all memory.
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

// bytes returns what is held until a page was sent. 0 means little.
func (p *pages) bytes(page *medium.Page) int64 {
	total, largest := 0, 0
	for i := range page.Entries {
		n := len(page.Entries[i].Data)
		total += n
		largest = max(largest, n)
	}
	n := framed * largest
	if p.e.o.ChargeCopies { // the page is a copy
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
