package call

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// keepFor is how long what a replica knows of a call is kept after its last step here.
	keepFor = 10 * time.Second
	// keepBytes bounds what is kept, of all calls together: records and entries, as kept.size counts them. The oldest
	// goes first.
	keepBytes = 16 << 20
	// keepOverhead is what a record counts beside the text in it.
	keepOverhead = 512
)

// Known is what a replica knows of a call: the record after the last step that was acknowledged to it, and the entries
// of its leases.
type Known struct {
	Record  *medium.Record
	Entries []medium.Entry
}

// kept is what a keeper has of a call.
type kept struct {
	Known
	at    time.Duration
	bytes int
	// replaced: something newer is kept of the call.
	replaced bool
}

// Keeper keeps what a replica knows of calls that it ran, or took an answer for, of late. When the store was away, all
// of it is restored; what the store still has stands. The zero Keeper is empty. It is not safe for concurrent use; its
// times are those of a clock that the caller reads.
type Keeper struct {
	// known is in the order of at.
	known []*kept
	calls map[string]*kept
	bytes int
}

// Keep notes what is known of a call, united with what was known before.
func (k *Keeper) Keep(r *medium.Record, entries []medium.Entry, now time.Duration) {
	n := &kept{Known: Known{Record: r, Entries: entries}, at: now}
	if o := k.calls[r.ID]; o != nil {
		k.bytes -= o.bytes
		united := *o.Record
		united.Merge(r, true)
		n.Record = &united
		n.Entries = medium.MergeLog(o.Entries, r, entries, n.Record)
		// What is left of the old one holds nothing.
		o.Known, o.replaced, o.bytes = Known{}, true, 0
	}
	n.bytes = n.size()
	k.bytes += n.bytes
	k.known = append(k.known, n)
	if k.calls == nil {
		k.calls = map[string]*kept{}
	}
	k.calls[r.ID] = n
	k.Forget(now)
}

// size is what it counts.
func (n *kept) size() int {
	size := keepOverhead + len(n.Record.State) + len(n.Record.Params)
	for i := range n.Record.Asked {
		q := &n.Record.Asked[i]
		if size += len(q.Message); q.Answer != nil {
			size += q.Answer.Bytes()
		}
	}
	for i := range n.Entries {
		size += len(n.Entries[i].Data)
	}
	return size
}

// Of is what is kept of a call, if anything.
func (k *Keeper) Of(id string, now time.Duration) (Known, bool) {
	k.Forget(now)
	n := k.calls[id]
	if n == nil {
		return Known{}, false
	}
	return n.Known, true
}

// With adds the entries that are kept of a call to those that its machine restores.
func (k *Keeper) With(r *medium.Record, entries []medium.Entry) []medium.Entry {
	if n := k.calls[r.ID]; n != nil {
		return medium.MergeLog(n.Entries, r, entries, r)
	}
	return entries
}

// Forget lets go of what was kept for long enough, as the other methods do.
func (k *Keeper) Forget(now time.Duration) {
	drop := 0
	for drop < len(k.known) {
		n := k.known[drop]
		if !n.replaced && k.bytes <= keepBytes && now-n.at <= keepFor {
			break
		}
		if k.bytes -= n.bytes; !n.replaced {
			delete(k.calls, n.Record.ID)
		}
		k.known[drop] = nil
		drop++
	}
	k.known = k.known[drop:]
}

// Restore gives what is to be restored when the store was away: the newest first.
func (k *Keeper) Restore(now time.Duration) []Known {
	k.Forget(now)
	out := make([]Known, 0, len(k.calls))
	for i := len(k.known) - 1; i >= 0; i-- {
		if !k.known[i].replaced {
			out = append(out, k.known[i].Known)
		}
	}
	return out
}
