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
	// copies is the number of copies of larger params: the call's, and the backend's message.
	copies = 2
	// smallPage is the size of a page up to which the stream's charge includes it.
	smallPage = 64 << 10
	// eventCopies is the memory of an event, beside the log, until the client has read it, as a multiple
	// of its size: it is copied into a growing buffer.
	eventCopies = 2
	// copyBytes is the size of a held copy of a session, without the client's own data.
	copyBytes = 2 << 10
)

// admit returns an error if there is no memory for the work of a message. Messages that may free
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

// holder returns the holder that is charged for the work of the session.
func (s *localSession) holder(e *Era) *budget.Holder {
	if h := s.payer.Load(); h != nil {
		return h
	}
	return mcp.HolderOf(e.o.Memory, s.rec.Load().Principal, netip.Addr{})
}

// chargeCopy charges the copy of a session with its record. The caller holds s.mu.
func (s *localSession) chargeCopy(e *Era, rec *record) {
	if !e.o.ChargeCopies || s.forgotten {
		return
	}
	if s.memory.Holder() == nil {
		s.memory = s.holder(e).Begin()
	}
	n := copyBytes + len(rec.ClientInfo) + len(rec.Capabilities)
	for _, uri := range rec.Subscriptions {
		n += len(uri)
	}
	s.memory.Settle(budget.Sessions, int64(n))
}

// forget releases the charge of the copy.
func (s *localSession) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	s.memory.Release()
}

// reader is one follower of a stream on this replica. It reads the pages of the log for one client.
// Each page is charged to a holder until it is sent.
type reader struct {
	e               *Era
	session, stream string
	cancel          context.CancelCauseFunc
	holder          *budget.Holder
	// memory is the charge for the page being sent, and permit the permission to read it.
	memory budget.Reservation
	permit *budget.Permit
}

// read reads a page (runtime.Log). If there is no memory for it, read drops the page, waits for a
// permit as for a result of unknown size, and reads the page again. Therefore one stream at a time
// is sent and frees its log, even if logs hold all memory.
func (r *reader) read(ctx context.Context, after medium.Position) (medium.Page, func(), error) {
	page, err := r.e.store.Read(ctx, r.session, r.stream, after, 0)
	if err != nil {
		return medium.Page{}, nil, err
	}
	n := r.bytes(&page)
	if r.memory.Try(budget.Streams, n) {
		return page, r.release, nil
	}
	page = medium.Page{}
	if r.permit, err = r.holder.Permit(ctx, budget.Streams, n, false); err != nil {
		return medium.Page{}, nil, err
	}
	if page, err = r.e.store.Read(ctx, r.session, r.stream, after, 0); err != nil {
		r.release()
		return medium.Page{}, nil, err
	}
	r.memory.Settle(budget.Streams, r.bytes(&page))
	return page, r.release, nil
}

// bytes returns the memory to charge until a page is sent. 0 means that the stream's charge
// includes it.
func (r *reader) bytes(page *medium.Page) int64 {
	total, largest := 0, 0
	for i := range page.Entries {
		n := len(page.Entries[i].Data)
		total += n
		largest = max(largest, n)
	}
	n := eventCopies * largest
	if r.e.o.ChargeCopies { // The page is a copy.
		n += total
	}
	if n <= smallPage {
		return 0
	}
	return int64(n)
}

// release releases the memory that was reserved for a page.
func (r *reader) release() {
	r.memory.Release()
	r.permit.Release()
	r.permit = nil
}
