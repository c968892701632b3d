package redis_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/memory"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// someEntries are up to 150 entries of random kinds and sizes. Some droppable ones are larger than a log.
func someEntries(rnd *rand.Rand, limits state.Limits) []state.Entry {
	entries := make([]state.Entry, rnd.IntN(150))
	soft := rnd.Float64()
	for i := range entries {
		e := &entries[i]
		size := rnd.IntN(300)
		switch {
		case rnd.Float64() >= soft:
			e.Kind = state.EntryNotice
			if rnd.IntN(4) == 0 {
				e.Completes = "key"
			}
		case rnd.IntN(2) == 0:
			e.Kind = state.EntryLog
		default:
			e.Kind, e.Progress = state.EntryProgress, rnd.NormFloat64()
		}
		switch rnd.IntN(60) {
		case 0:
			size = 40 << 10
		case 1:
			size = limits.LogBytes + 1
			if e.Kind == state.EntryNotice {
				size = limits.ResultBytes
			}
		}
		e.Data = bytes.Repeat([]byte{byte('a' + rnd.IntN(26))}, size)
	}
	return entries
}

// wholeLog reads a log in pages of at most so many entries.
func wholeLog(t *testing.T, r medium.Store, after medium.Position, most int) (entries []medium.Entry, ended bool) {
	t.Helper()
	for {
		page, err := r.Read(t.Context(), "s", "st", after, most)
		must(t, err)
		entries = append(entries, page.Entries...)
		if most > 0 && len(page.Entries) > most {
			t.Fatalf("a page of %d entries, at most %d were asked for", len(page.Entries), most)
		}
		if !page.More {
			return entries, page.Ended
		}
		if len(page.Entries) == 0 {
			t.Fatalf("an empty page after %v that is not the last", after)
		}
		after = entries[len(entries)-1].Position()
	}
}

func sameEntry(a, b medium.Entry) bool {
	return a.Position() == b.Position() && a.Kind == b.Kind && a.Progress == b.Progress && bytes.Equal(a.Data, b.Data)
}

func show(entries []medium.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%d: kind %d, progress %v, %d bytes of %.1q\n", e.Seq, e.Kind, e.Progress, len(e.Data), e.Data)
	}
	return b.String()
}

// What a log holds after any writes, and reads from any place, are the same as in memory, entry by entry: chunks
// are not to be noticed.
func TestChunksAreNotNoticed(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	for round := range 30 {
		rnd := rand.New(rand.NewPCG(1, uint64(round)))
		limits := state.Limits{LogEvents: 1 + rnd.IntN(300), LogBytes: 1 + rnd.IntN(200_000), ResultBytes: 50_000}
		if rnd.IntN(3) == 0 {
			limits.SessionBytes = 100_000 + rnd.IntN(300_000)
		}
		must(t, c.FlushAll(t.Context()).Err())
		writer := start(t, c, redis.Options{Limits: limits})
		// It reads what Redis has, not what it wrote itself.
		reader := start(t, c, redis.Options{Limits: limits, Replica: "reader"})
		m := memory.New(limits)
		t.Cleanup(m.Close)
		expect := m.Store("m", medium.Hooks{})
		stores := []medium.Store{writer, expect}
		writers := make([]*statetest.Writer, 2)
		for i, s := range stores {
			must(t, s.Create(t.Context(), record("s")))
			got, err := statetest.Begin(t.Context(), s, "s", "st", call("c"))
			must(t, err)
			writers[i] = got[0]
		}
		last, first := uint64(0), writers[0].Record.Epoch
		compare := func(what string) {
			t.Helper()
			for range 2 {
				after, most := medium.Position{Seq: rnd.Uint64N(last + 1)}, rnd.IntN(3)*(1+rnd.IntN(40))
				if after.Seq > 0 {
					after.Epoch = first
				}
				read := func(r medium.Store) ([]medium.Entry, bool) { return wholeLog(t, r, after, most) }
				want, wantEnded := read(expect)
				for name, r := range map[string]medium.Store{"reader": reader, "writer": writer} {
					got, ended := read(r)
					if !slices.EqualFunc(want, got, sameEntry) || ended != wantEnded {
						t.Fatalf("round %d, %s: the %s has after %d, ended %v:\n%swant, ended %v:\n%s", round, what, name,
							after.Seq, ended, show(got), wantEnded, show(want))
					}
				}
			}
		}
		for write := range 12 {
			entries := someEntries(rnd, limits.OrDefaults())
			for _, w := range writers {
				if write == 11 {
					must(t, w.Finish(t.Context(), []byte(`{"result":1}`), entries...))
				} else {
					must(t, w.Append(t.Context(), entries...))
				}
			}
			if all, _ := wholeLog(t, expect, medium.Position{}, 0); len(all) > 0 {
				last = max(last, all[len(all)-1].Seq)
			}
			compare(fmt.Sprintf("write %d of %d entries", write, len(entries)))
			if write != 6 {
				continue
			}
			// The highest progress is kept, whatever became of its entry.
			for i, s := range stores {
				var err error
				writers[i], err = statetest.Claim(t.Context(), s, writers[i].ClaimTarget())
				must(t, err)
			}
			if a, b := writers[0].Record, writers[1].Record; a.Progress != b.Progress || a.HasProgress != b.HasProgress {
				t.Fatalf("round %d: the highest progress is %v, want %v", round, a.Progress, b.Progress)
			}
		}
	}
}
