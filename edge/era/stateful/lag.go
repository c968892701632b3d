package stateful

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// lagPause is how long whoever wrote what a store has lost is waited for.
const lagPause = 2 * time.Second

// lag is a log that does not reach what the client has of it, since the store lost the rest. Whoever wrote that
// goes on under a new epoch, which the client is then sent; a reader changes nothing and stays where it is. But the
// author may be lost too, with an answer that the client gave: so after a while the client is told once more what
// it is asked, and what the log ended with. That comes without ids, for the place to come back to stays the same.
type lag struct {
	since time.Time
	// told is how far the log, as it is now, was looked through.
	told state.Position
}

// lagging is catchUp for a log that lags. It returns false when the stream is over for this client.
func (f *follower) lagging(ctx context.Context) bool {
	f.releasePage()
	if f.lag == nil {
		f.e.counters.Rollbacks.Add(1)
		f.lag = &lag{since: time.Now(), told: state.Position{Stream: f.pos.Stream}}
	}
	for time.Since(f.lag.since) >= lagPause && ctx.Err() == nil {
		page, on := f.read(ctx, f.lag.told)
		switch {
		case page == nil:
			return on
		case page.Ahead:
			f.releasePage()
			f.lag.told = state.Position{Stream: f.pos.Stream}
			return true
		}
		sent := f.tell(*page)
		f.releasePage()
		if f.ended = sent && page.Ended; f.ended || !sent {
			return false
		}
		if page.AtEnd {
			return true
		}
	}
	return ctx.Err() == nil
}

// tell writes a page's requests and responses without ids.
func (f *follower) tell(page state.Page) bool {
	f.lag.told.Epoch = page.Epoch
	for _, en := range page.Entries {
		f.lag.told.Seq = en.Seq
		switch en.Kind {
		case state.EntryRequest:
		case state.EntryResponse:
			f.s.answeredHere(f.pos.Stream)
		default:
			continue
		}
		if f.st.Send(mcp.StreamEvent{Data: en.Data}) != nil {
			return false
		}
		f.sent++
		f.told, f.opening = time.Now(), false
	}
	return true
}
