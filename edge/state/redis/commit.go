package redis

import (
	"context"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Commit implements medium.Calls.
func (r *Replica) Commit(ctx context.Context, w *medium.Write) error {
	if err := w.Check(r.limits.ResultBytes); err != nil {
		return err
	}
	begins := len(w.Begin) > 0
	if begins && r.cluster != nil {
		if err := r.index(ctx, w.Session, w.Stream, 0); err != nil {
			return err
		}
	}
	run := r.runOften
	if begins && r.acks != nil {
		run = r.runAcknowledged
	}
	rep, err := run(ctx, commitScript, w.Session, w.Call, r.commitArgs(w)...)
	r.noteWrite(w, rep, err)
	r.followers.wake(r.place(w.Session, w.Stream))
	if r.cluster != nil && (begins && rep.code == "gone" || err == nil && rep.number(1) == 1) {
		r.unindex(ctx, w.Session, w.Stream)
	}
	if err == nil {
		r.dropped.Add(rep.unsigned(0))
	}
	return err
}

// commitArgs returns the arguments of commit.lua. The bytes are those of sealed entries.
func (r *Replica) commitArgs(w *medium.Write) []any {
	entries, most := r.seals.sealEntries(w.Session, w.Stream, w.Entries), r.limits.LogBytes
	sealed := func(call, field string, plain []byte) []byte {
		return r.seals.seal(bindCall(w.Session, call, field), plain)
	}
	args := []any{
		w.Stream, w.Call, text(w.Epoch), text(w.N), text(w.After), text(w.Seq), len(entries), packEntries(entries, most),
		int(w.Next), w.Round, sealed(w.Call, "sv", w.State), indexed(w.Session, w.Stream), bucketLife.Milliseconds(), len(w.Begin), len(w.Asks), flag(w.Resumable),
		state.PinnedBytes(entries), sealed(w.Call, "br", w.Brief), softBytes(entries, most),
	}
	for _, b := range w.Begin {
		args = append(args, b.ID, b.RequestID, sealed(b.ID, "b", pack(&b.Request, (*codec).request)), millis(b.Deadline), b.Round, b.Attempt, b.Request.Bytes(),
			text(b.Epoch), b.Trace, sealed(b.ID, "sv", b.State), flag(b.Resumable))
	}
	for i := range w.Asks {
		a := &w.Asks[i]
		args = append(args, a.ID, a.Key, sealed(w.Call, "o:"+a.Key, []byte(a.ElicitationID)),
			r.seals.seal(bindAsk(w.Session, a.ID, "g"), a.Message), r.seals.seal(bindAsk(w.Session, a.ID, "a"), pack(a, (*codec).ask)))
	}
	return args
}

// softBytes returns the bytes of droppable entries, without those of more than most bytes, which
// fit in no log.
func softBytes(entries []state.Entry, most int) (n int) {
	for i := range entries {
		if e := &entries[i]; e.Kind.Droppable() && len(e.Data) <= most {
			n += len(e.Data)
		}
	}
	return n
}

// text formats a number that may be too large for a script's numbers.
func text[N ~uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }

// noteWrite applies a write to the stream's cached log if nothing else happened to the stream.
func (r *Replica) noteWrite(w *medium.Write, rep reply, err error) {
	at := r.place(w.Session, w.Stream)
	if err != nil {
		r.logs.forget(at)
		return
	}
	if rep.number(5) == 1 {
		r.logs.begin(at, medium.Epoch(rep.unsigned(2)), w.Begin[0].Trace)
	}
	if w.Call == "" || len(w.Entries) == 0 && w.Next != medium.NextDone {
		return
	}
	if rep.number(2) == 0 || rep.number(4) != int64(len(w.Entries)) {
		r.logs.forget(at)
		return
	}
	r.logs.wrote(at, medium.Epoch(rep.unsigned(2)), rep.unsigned(3), w.Entries, rep.number(1) == 1)
}
