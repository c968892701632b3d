package call

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// keepFor is the time for which a call is kept after its last step on this replica.
	keepFor = 10 * time.Second
	// keepBytes bounds the records and entries of all calls together, as counted by kept.size. The
	// oldest are dropped first. The newest is kept even if it exceeds the bound.
	keepBytes = 16 << 20
	// keepOverhead is the counted size of a record beside its text.
	keepOverhead = 512
)

// Known is the knowledge of a replica about a call: the record after the last acknowledged step,
// and the entries of the replica's leases.
type Known struct {
	Record  *medium.Record
	Entries []medium.Entry
}

// kept is a Keeper's entry for a call.
type kept struct {
	Known
	at    time.Duration
	bytes int
	// replaced is true if the Keeper has a newer entry of the call.
	replaced bool
}

// Keeper keeps the knowledge of a replica about recent calls that it ran or took an answer for. All
// of it is restored after the store was unavailable; the store ignores the parts that it still has.
// The zero Keeper is empty. It is not safe for concurrent use. Its times are readings of the
// caller's clock.
type Keeper struct {
	// known is ordered by at.
	known []*kept
	calls map[string]*kept
	bytes int
}

// Keep adds the knowledge about a call and merges it with earlier knowledge.
func (k *Keeper) Keep(r *medium.Record, entries []medium.Entry, now time.Duration) {
	n := &kept{Known: Known{Record: r, Entries: entries}, at: now}
	if o := k.calls[r.ID]; o != nil {
		k.bytes -= o.bytes
		united := *o.Record
		united.Merge(r, true)
		n.Record = &united
		n.Entries = medium.MergeLog(o.Entries, r, entries, n.Record)
		// Empty the old entry.
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

// size returns the counted bytes of n.
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

// Get returns the knowledge about a call, if there is any.
func (k *Keeper) Get(id string, now time.Duration) (Known, bool) {
	k.Forget(now)
	n := k.calls[id]
	if n == nil {
		return Known{}, false
	}
	return n.Known, true
}

// Merge merges the kept entries of a call with those that its machine restores.
func (k *Keeper) Merge(r *medium.Record, entries []medium.Entry) []medium.Entry {
	if n := k.calls[r.ID]; n != nil {
		return medium.MergeLog(n.Entries, r, entries, r)
	}
	return entries
}

// Forget drops expired calls, and the oldest ones over the bound. The other methods but With call
// it.
func (k *Keeper) Forget(now time.Duration) {
	drop := 0
	for drop < len(k.known) {
		n := k.known[drop]
		newest := drop == len(k.known)-1
		if !n.replaced && (k.bytes <= keepBytes || newest) && now-n.at <= keepFor {
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

// Restore returns the knowledge to restore after the store was unavailable, the newest first.
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
