package redis

import (
	"context"
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// pageSize is the page size that the medium chooses; pageBytes ends a page early.
	pageSize  = 256
	pageBytes = 1 << 20
)

// Read implements medium.Logs. A page whose size the medium chooses has at most 256 chunks and ends
// early at 1 MiB.
func (r *Replica) Read(ctx context.Context, id, stream string, after medium.Position, most int) (medium.Page, error) {
	chunks := pageSize
	if most > 0 {
		chunks = min(most, pageSize)
	}
	if page, ok := r.logs.read(r.place(id, stream), after, chunks); ok {
		return page, ctx.Err()
	}
	rep, err := r.run(ctx, pageScript, id, stream, stream, text(after.Epoch), text(after.Seq), chunks, pageBytes)
	if err != nil {
		return medium.Page{}, err
	}
	page := medium.Page{
		More: rep.number(2) == 0, Ended: rep.number(3) == 1, Trace: rep.text(4), Ahead: rep.number(5) > 0,
		Last: medium.Position{Epoch: medium.Epoch(rep.unsigned(6)), Seq: rep.unsigned(7)},
	}
	entries, err := r.readLog(id, stream, rep.list(0), rep.unsigned(1), rep.list(8))
	if err != nil {
		return medium.Page{}, err
	}
	if page.Ahead {
		r.rollbacks.Add(1)
		waits := &medium.Record{Batch: int(rep.number(5)) - 1}
		for asked := (reply{rest: rep.list(9)}); len(asked.rest) > 1; asked.rest = asked.rest[2:] {
			message, err := r.seals.open(bindAsk(id, asked.text(0), "g"), asked.text(1))
			if err != nil {
				return medium.Page{}, err
			}
			waits.Asked = append(waits.Asked, medium.Question{Ask: state.Ask{Message: message}})
		}
		page.Entries = medium.EntriesToResend(entries, []*medium.Record{waits}, after)
		return page, nil
	}
	if after != (medium.Position{}) { // The first chunk may begin before the position.
		entries = slices.DeleteFunc(entries, func(e medium.Entry) bool { return !after.Before(e.Position()) })
	}
	if most > 0 && len(entries) > most {
		entries, page.More = entries[:most], true
	}
	page.Entries, page.Ended = entries, page.Ended && !page.More
	return page, nil
}

// Summaries implements medium.Logs, in one round trip for up to 512 sessions.
func (r *Replica) Summaries(ctx context.Context, sessions []string, stream string) ([]*medium.Summary, error) {
	out := make([]*medium.Summary, len(sessions))
	err := r.each(ctx, summaryScript, sessions, func(int) []any { return []any{stream} }, func(i int, rep reply) error {
		if rep.err != nil || rep.code != "ok" {
			return rep.err
		}
		id := sessions[i]
		s, err := r.readReplied(id, rep.list(0))
		if err != nil {
			return err
		}
		brief, err := r.seals.open(bindCall(id, rep.text(4), "br"), rep.text(1))
		if err != nil {
			return err
		}
		ended := state.Phase(rep.number(2)) == state.PhaseDone // #nosec G115 -- a phase
		out[i] = &medium.Summary{Session: s, Brief: brief, Waits: rep.texts(3), Ended: ended}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// readLog reads the items of a Redis stream. Droppable entries up to the floor are gone. begin
// lists where epochs begin: epoch, number before its first entry, and so on.
func (r *Replica) readLog(session, stream string, chunks []any, floor uint64, begin []any) (out []medium.Entry, err error) {
	var entries []state.Entry
	for _, v := range chunks {
		if entries, err = readChunk(entries, v, 0, floor); err != nil {
			return nil, err
		}
	}
	if err := r.seals.openEntries(session, stream, entries); err != nil {
		return nil, err
	}
	g := reply{rest: begin}
	epoch, i := medium.Epoch(0), 0
	for _, e := range entries {
		for ; i+1 < len(begin) && g.unsigned(i+1) < e.Seq; i += 2 {
			epoch = medium.Epoch(g.unsigned(i))
		}
		out = append(out, medium.Entry{Epoch: epoch, Entry: e})
	}
	return out, nil
}
