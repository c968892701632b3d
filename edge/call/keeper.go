package call

import (
	"container/list"
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
}

// Keeper keeps the knowledge of a replica about recent calls that it ran or took an answer for. All
// of it is restored after the store was unavailable; the store ignores the parts that it still has.
// The zero Keeper is empty. It is not safe for concurrent use. Its times are readings of the
// caller's clock.
type Keeper struct {
	// known has the entries, *kept, ordered by at.
	known list.List
	calls map[string]*list.Element
	bytes int
}

// Keep adds the knowledge about a call and merges it with earlier knowledge.
func (k *Keeper) Keep(r *medium.Record, entries []medium.Entry, now time.Duration) {
	n := &kept{Known: Known{Record: r, Entries: entries}, at: now}
	if old := k.calls[r.ID]; old != nil {
		o := k.drop(old)
		united := *o.Record
		united.Merge(r, true)
		n.Record = &united
		n.Entries = medium.MergeLog(o.Entries, r, entries, n.Record)
	}
	n.bytes = n.size()
	k.bytes += n.bytes
	if k.calls == nil {
		k.calls = map[string]*list.Element{}
	}
	k.calls[r.ID] = k.known.PushBack(n)
	k.Forget(now)
}

func (k *Keeper) drop(e *list.Element) *kept {
	n := k.known.Remove(e).(*kept)
	k.bytes -= n.bytes
	delete(k.calls, n.Record.ID)
	return n
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
func (k *Keeper) Get(id string, now time.Duration) (_ Known, ok bool) {
	k.Forget(now)
	if e := k.calls[id]; e != nil {
		return e.Value.(*kept).Known, true
	}
	return Known{}, false
}

// Merge merges the kept entries of a call with those that its machine restores.
func (k *Keeper) Merge(r *medium.Record, entries []medium.Entry) []medium.Entry {
	if e := k.calls[r.ID]; e != nil {
		return medium.MergeLog(e.Value.(*kept).Entries, r, entries, r)
	}
	return entries
}

// Forget drops expired calls, and the oldest ones over the bound. The other methods but Merge call
// it.
func (k *Keeper) Forget(now time.Duration) {
	for e := k.known.Front(); e != nil; e = k.known.Front() {
		full := k.bytes > keepBytes && k.known.Len() > 1
		if !full && now-e.Value.(*kept).at <= keepFor {
			return
		}
		k.drop(e)
	}
}

// Restore returns the knowledge to restore after the store was unavailable, the newest first.
func (k *Keeper) Restore(now time.Duration) []Known {
	k.Forget(now)
	out := make([]Known, 0, k.known.Len())
	for e := k.known.Back(); e != nil; e = e.Prev() {
		out = append(out, e.Value.(*kept).Known)
	}
	return out
}
