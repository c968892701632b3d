package call

import (
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// The effects of a reader.
const (
	// Read reads the log at once after the reader's Position.
	Read EffectKind = iota + 64
	// Send sends Entries to the client.
	Send
	// EndStream ends the client's stream: the whole log was sent, or it no longer exists.
	EndStream
)

// Reader sends a log to one client. It never writes and never goes back. If the store has lost
// writes and the reader is ahead of the log, it waits until the log has them again, has entries of
// another owner in their place, or ends. It is not safe for concurrent use.
type Reader struct {
	pos medium.Position
	// left are the last positions of other epochs with the same counter that the log had before.
	left []medium.Position
	// resent is the last resent entry while the client is ahead of the store.
	resent medium.Position
}

// NewReader makes a reader that begins after a position.
func NewReader(after medium.Position) *Reader { return &Reader{pos: after} }

// Position returns the position after which the reader reads next.
func (r *Reader) Position() medium.Position { return r.pos }

// Step takes the page that was read, or the fault of a read that failed, and appends its effects to buf,
// in order. Without Read and EndStream, the log is read again when it may have grown.
func (r *Reader) Step(p *medium.Page, f Fault, buf []Effect) []Effect {
	switch {
	case f == Gone:
		return append(buf, Effect{Kind: EndStream})
	case f != NoFault:
		return buf
	case p.Ahead:
		buf = r.resend(p.Entries, buf)
	default:
		r.resent = medium.Position{}
		buf = r.send(p.Entries, buf)
	}
	switch {
	case p.Ended:
		return append(buf, Effect{Kind: EndStream})
	case p.More && !p.Ahead:
		return append(buf, Effect{Kind: Read})
	}
	return buf
}

// send sends entries. The client already has the entries of an epoch that the log lost and has
// again. Of these it gets only requests and responses, without ids, because no id is sent twice.
func (r *Reader) send(entries []medium.Entry, buf []Effect) []Effect {
	for from := 0; from < len(entries); {
		known, to := r.advance(entries[from].Position()), from+1
		for to < len(entries) && r.advance(entries[to].Position()) == known {
			to++
		}
		part := entries[from:to]
		if known {
			part = slices.DeleteFunc(slices.Clone(part), func(e medium.Entry) bool {
				return e.Kind != state.EntryRequest && e.Kind != state.EntryResponse
			})
		}
		if len(part) > 0 {
			buf = append(buf, Effect{Kind: Send, Entries: part, Unnumbered: known})
		}
		from = to
	}
	return buf
}

// advance advances the reader to a position. known is true if that position was sent before.
func (r *Reader) advance(to medium.Position) (known bool) {
	if to.Epoch.Counter() != r.pos.Epoch.Counter() {
		r.left = nil
	} else if to.Epoch != r.pos.Epoch {
		r.left = append(r.left, r.pos)
	}
	r.pos = to
	return slices.ContainsFunc(r.left, func(p medium.Position) bool { return p.Epoch == to.Epoch && p.Seq >= to.Seq })
}

// resend resends entries, once, to a client that is ahead of the store. They have no ids, so
// that the client keeps the id of the last entry that it has.
func (r *Reader) resend(entries []medium.Entry, buf []Effect) []Effect {
	i := slices.IndexFunc(entries, func(e medium.Entry) bool { return r.resent.Before(e.Position()) })
	if i < 0 {
		return buf
	}
	r.resent = entries[len(entries)-1].Position()
	return append(buf, Effect{Kind: Send, Entries: entries[i:], Unnumbered: true})
}
