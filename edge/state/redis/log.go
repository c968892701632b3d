package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// pageSize is the medium's choice; pageBytes ends a page early.
	pageSize  = 256
	pageBytes = 1 << 20
)

// Append implements state.Log.
func (r *Replica) Append(ctx context.Context, w state.Write, entries ...state.Entry) error {
	if err := r.admitAll(entries); err != nil {
		return err
	}
	dispatched := 0
	if w.Dispatched {
		dispatched = 1
	}
	_, err := r.write(ctx, appendScript, w, entries, dispatched, packEntries(entries, r.limits.LogBytes))
	return err
}

// admitAll says why entries cannot be appended.
func (r *Replica) admitAll(entries []state.Entry) error {
	for i := range entries {
		if err := r.admit(&entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// admit says why an entry cannot be appended.
func (r *Replica) admit(e *state.Entry) error {
	switch e.Kind {
	case state.EntryProgress, state.EntryLog:
		return nil
	case state.EntryNotice, state.EntryRequest:
		return r.bounded("an entry", len(e.Data))
	case state.EntryResponse:
		return errors.New("a response cannot be appended, it ends the call: use Finish")
	default:
		return fmt.Errorf("entry of unknown kind %d", e.Kind)
	}
}

// write makes one numbered write, of entries maybe, and wakes the stream's followers here, whatever came
// of it; the script wakes those elsewhere.
func (r *Replica) write(ctx context.Context, s *script, w state.Write, entries []state.Entry, args ...any) (reply, error) {
	if w.N == 0 {
		return reply{}, errors.New("a write has no number: the first under a lease is 1")
	}
	head := []any{w.Stream, w.Call, strconv.FormatUint(w.Epoch, 10), strconv.FormatUint(w.N, 10)}
	rep, err := r.runIndexed(ctx, s, w.Session, append(head, args...)...)
	r.keepTail(w, entries, rep, err)
	r.followers.wake(r.session(w.Session), w.Stream)
	if err != nil {
		return reply{}, err
	}
	if err := r.refusal(w.Session, w.Call, rep); err != nil {
		return reply{}, err
	}
	r.dropped.Add(rep.unsigned(0))
	return rep, nil
}

// keepTail brings the stream's tail up to a write, if that is all that happened to it.
func (r *Replica) keepTail(w state.Write, entries []state.Entry, rep reply, err error) {
	at := place{r.session(w.Session), w.Stream}
	if err != nil || rep.code != "ok" || rep.number(2) == 0 || rep.number(4) != int64(len(entries)) {
		r.tails.forget(at)
		return
	}
	r.tails.wrote(at, rep.unsigned(2), rep.unsigned(3), entries, rep.number(1) == 1)
}

// Read implements state.Log. A page of the medium's choice is at most 256 chunks, and ends early at 1 MiB.
func (r *Replica) Read(ctx context.Context, id string, after state.Position, max int) (state.Page, error) {
	if after.Epoch > state.MaxPosition || after.Seq > state.MaxPosition {
		return state.Page{}, fmt.Errorf("stream %.40q: %w", after.Stream, state.ErrNotFound)
	}
	chunks := pageSize
	if max > 0 {
		chunks = min(max, pageSize)
	}
	if page, ok := r.tails.read(place{r.session(id), after.Stream}, after, chunks); ok {
		return page, ctx.Err()
	}
	rep, err := r.run(ctx, readScript, id, after.Stream, strconv.FormatUint(after.Epoch, 10),
		strconv.FormatUint(after.Seq, 10), chunks, pageBytes, state.MaxAhead)
	switch {
	case err != nil:
		return state.Page{}, err
	case rep.code == "gone":
		return state.Page{}, noSession(id)
	case rep.code == "missing":
		return state.Page{}, fmt.Errorf("stream %.40q: %w", after.Stream, state.ErrNotFound)
	}
	page := state.Page{
		Epoch: rep.unsigned(1), Ended: rep.number(2) == 1, AtEnd: rep.number(3) == 1, Trace: rep.text(4),
		Rewound: rep.number(6) == 1, Ahead: rep.number(6) == 2,
	}
	from, floor := after.Seq, rep.unsigned(5)
	if page.Rewound || after.Epoch == 0 {
		from = 0
	}
	if page.Rewound || page.Ahead {
		r.rollbacks.Add(1)
	}
	for _, v := range rep.list(0) {
		if page.Entries, err = readChunk(page.Entries, v, from, floor); err != nil {
			return state.Page{}, fmt.Errorf("stream %.40q: %w", after.Stream, err)
		}
	}
	if max > 0 && len(page.Entries) > max {
		page.Entries, page.Ended, page.AtEnd = page.Entries[:max], false, false
	}
	return page, nil
}
