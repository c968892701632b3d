package statetest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// lease is the state of a call as its owner knows it.
type lease struct {
	of      *pair
	rec     medium.Record
	entries []medium.Entry
	// n and seq are the last used number and place. pending is a write whose reply was lost.
	n, seq  uint64
	pending *medium.Write
}

// knows is the record that a replica received with an answer that was not the last.
type knows struct {
	of  *pair
	rec medium.Record
}

type sent struct {
	of *pair
	w  *medium.Write
}

type claimed struct {
	of    *pair
	which medium.ClaimTarget
}

// record draws the record of a call that begins.
func (w *drawn) record(t *rapid.T) medium.Record {
	w.calls++
	id := fmt.Sprint(w.session, "-", w.calls)
	rec := medium.Record{Session: w.session, Stream: "st-" + id, Phase: state.PhaseDispatched, Epoch: medium.EpochOf(1, w.random(t))}
	rec.Request = callOf(id)
	rec.Deadline = [...]time.Time{{}, time.Now().Add(time.Hour), time.Now().Add(-time.Hour)}[rapid.IntRange(0, 2).Draw(t, "deadline")].Truncate(time.Millisecond)
	if rapid.IntRange(0, 3).Draw(t, "in a later round") == 0 {
		rec.Round, rec.Attempt, rec.State, rec.Resumable = 2, 1, []byte("state of "+id), rapid.Bool().Draw(t, "resumable")
	}
	return rec
}

// beginBatch begins two or three calls that share a stream.
func (w *drawn) beginBatch(t *rapid.T) {
	recs := make([]medium.Record, rapid.IntRange(2, 3).Draw(t, "calls"))
	of, write := w.replica(t), &medium.Write{Session: w.session}
	for i := range recs {
		recs[i] = w.record(t)
		recs[i].Stream, recs[i].Batch = recs[0].Stream, len(recs)
		write.Begin = append(write.Begin, &recs[i])
	}
	write.Stream = recs[0].Stream
	w.batches[write.Stream] = true
	w.send(of, write)
	if w.commit(t, of, write) != nil {
		return
	}
	lost := lostReply(t)
	for i := range recs {
		l := &lease{of: of, rec: recs[i]}
		if lost {
			l.pending = write
		}
		w.leases = append(w.leases, l)
	}
}

// begin begins a call that is alone on its stream.
func (w *drawn) begin(t *rapid.T) {
	rec := w.record(t)
	l := &lease{of: w.replica(t), rec: rec}
	write := &medium.Write{Session: w.session, Stream: rec.Stream, Begin: []*medium.Record{&rec}}
	if rapid.Bool().Draw(t, "with a step") {
		w.step(t, l, write)
	}
	w.send(l.of, write)
	if w.commit(t, l.of, write) != nil {
		return
	}
	if lostReply(t) {
		l.pending = write
	} else {
		l.has(write)
	}
	w.leases = append(w.leases, l)
}

// has applies an acknowledged write to the owner's knowledge.
func (l *lease) has(write *medium.Write) {
	l.pending = nil
	if write.Call != "" {
		l.rec.Apply(write)
		l.entries = append(slices.Clip(l.entries), write.Placed()...)
	}
}

// step draws the next step under a lease.
func (w *drawn) step(t *rapid.T, l *lease, write *medium.Write) {
	write.Session, write.Stream, write.Call, write.Epoch = w.session, l.rec.Stream, l.rec.ID, l.rec.Epoch
	l.n += rapid.Uint64Range(1, 2).Draw(t, "refused before")
	write.N, write.After = l.n, l.rec.N
	l.seq = max(l.seq, l.rec.Last)
	write.Seq = l.seq + rapid.Uint64Range(1, 2).Draw(t, "burned")
	for range rapid.IntRange(0, 3).Draw(t, "entries") {
		write.Entries = append(write.Entries, w.entry(t, l))
	}
	write.Next = medium.Next(rapid.IntRange(int(medium.NextSame), int(medium.NextDone)).Draw(t, "next")) // #nosec G115 -- small
	write.Resumable = rapid.Bool().Draw(t, "resumable")
	switch write.Next {
	case medium.NextWaiting:
		w.asking(t, l, write)
	case medium.NextDone:
		if rapid.Bool().Draw(t, "response") {
			write.Entries = append(write.Entries, state.Entry{Kind: state.EntryResponse, Data: response(fmt.Sprint(l.rec.ID, "/", l.n))})
		}
	default:
		if rapid.IntRange(0, 3).Draw(t, "round begins") == 0 {
			write.Round, write.State = l.rec.Round+rapid.IntRange(0, 1).Draw(t, "anew"), []byte(fmt.Sprint("state ", l.n))
		}
	}
	l.seq = write.Seq + uint64(len(write.Entries))
}

func (w *drawn) entry(t *rapid.T, l *lease) state.Entry {
	text := fmt.Sprint(l.rec.ID, "/", uint64(l.rec.Epoch), "/", l.n)
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return progress(rapid.Float64Range(0, 9).Draw(t, "progress"))
	case 1:
		return state.Entry{Kind: state.EntryLog, Data: []byte(text)}
	case 2:
		e := notice(text)
		e.Completes = pick(t, []string{"key-1", "key-2", ""}, "completes")
		return e
	}
	return notice(text)
}

func (w *drawn) asking(t *rapid.T, l *lease, write *medium.Write) {
	for i := range rapid.IntRange(1, 2).Draw(t, "asks") {
		id := fmt.Sprint(l.rec.ID, "-", uint64(l.rec.Epoch), "-", l.n, "-", i)
		if taken := w.waiting(l.rec.ID); len(taken) > 0 && rapid.IntRange(0, 4).Draw(t, "an id that is taken") == 0 {
			id = pick(t, taken, "taken")
		}
		a := state.Ask{
			ID: id, Key: fmt.Sprint("key-", i+1), Method: mcp.MethodElicit, Asked: time.UnixMilli(1_700_000_000_000),
			Message: fmt.Appendf(nil, "asks %s in step %d of %s, epoch %d", id, write.N, l.rec.ID, l.rec.Epoch),
		}
		if rapid.Bool().Draw(t, "URL") {
			a.ElicitationID = "e-" + id
		}
		w.asks = append(w.asks, id)
		write.Asks = append(write.Asks, a)
		write.Entries = append(write.Entries, state.Entry{Kind: state.EntryRequest, Data: a.Message})
	}
	write.State = []byte(fmt.Sprint("state ", l.n))
}

// waiting returns the ids of the questions that calls other than but wait for. A write that asks one of them is refused:
// otherwise it would be ambiguous whose answer is meant once lost writes are restored.
func (w *drawn) waiting(but string) (ids []string) {
	for _, r := range w.model.Records() {
		for _, q := range r.Asked {
			if r.ID != but && r.Phase == state.PhaseWaiting && q.Answer == nil {
				ids = append(ids, q.ID)
			}
		}
	}
	return ids
}
