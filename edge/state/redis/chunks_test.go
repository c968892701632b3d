package redis_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/memory"
	"github.com/mcpedge/mcpedge/edge/state/redis"
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
func wholeLog(t *testing.T, r state.Store, after state.Position, most int) (entries []state.Entry, ended bool) {
	t.Helper()
	for {
		page, err := r.Read(t.Context(), "s", after, most)
		must(t, err)
		entries = append(entries, page.Entries...)
		if most > 0 && len(page.Entries) > most {
			t.Fatalf("a page of %d entries, at most %d were asked for", len(page.Entries), most)
		}
		if page.AtEnd {
			return entries, page.Ended
		}
		if len(page.Entries) == 0 {
			t.Fatalf("an empty page after %v that is not the last", after)
		}
		after = state.Position{Stream: "st", Epoch: page.Epoch, Seq: entries[len(entries)-1].Seq}
	}
}

func sameEntry(a, b state.Entry) bool {
	return a.Seq == b.Seq && a.Kind == b.Kind && a.Progress == b.Progress && bytes.Equal(a.Data, b.Data)
}

func show(entries []state.Entry) string {
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
		expect := m.Replica("m")
		stores := []state.Store{writer, expect}
		leases := make([]state.Lease, 2)
		for i, s := range stores {
			must(t, s.Create(t.Context(), record("s")))
			got, err := s.Begin(t.Context(), "s", "st", []state.Call{call("c")})
			must(t, err)
			leases[i] = got[0]
		}
		last := uint64(0)
		compare := func(what string) {
			t.Helper()
			for range 2 {
				after, most := state.Position{Stream: "st", Seq: rnd.Uint64N(last + 1)}, rnd.IntN(3)*(1+rnd.IntN(40))
				read := func(r state.Store) ([]state.Entry, bool) {
					page, err := r.Read(t.Context(), "s", state.Position{Stream: "st"}, 1)
					must(t, err)
					after.Epoch = page.Epoch // Each store has its own.
					return wholeLog(t, r, after, most)
				}
				want, wantEnded := read(expect)
				for name, r := range map[string]state.Store{"reader": reader, "writer": writer} {
					got, ended := read(r)
					if !slices.EqualFunc(want, got, sameEntry) || ended != wantEnded {
						t.Fatalf("round %d, %s: the %s has after %d, ended %v:\n%swant, ended %v:\n%s", round, what, name,
							after.Seq, ended, show(got), wantEnded, show(want))
					}
				}
			}
		}
		n := uint64(0)
		for write := range 12 {
			n++
			entries := someEntries(rnd, limits.OrDefaults())
			for i, s := range stores {
				w := state.Write{Lease: leases[i], N: n}
				if write == 11 {
					must(t, s.Finish(t.Context(), w, []byte(`{"result":1}`), entries...))
				} else {
					must(t, s.Append(t.Context(), w, entries...))
				}
			}
			if all, _ := wholeLog(t, expect, state.Position{Stream: "st"}, 0); len(all) > 0 {
				last = max(last, all[len(all)-1].Seq)
			}
			compare(fmt.Sprintf("write %d of %d entries", write, len(entries)))
			if write != 6 {
				continue
			}
			// The highest progress is kept, whatever became of its entry.
			var claims [2]*state.Claim
			for i, s := range stores {
				var err error
				claims[i], err = s.Claim(t.Context(), state.Which{Session: "s", Call: "c", Epoch: 1})
				must(t, err)
				leases[i] = claims[i].Lease
			}
			if claims[0].Progress != claims[1].Progress || claims[0].HasProgress != claims[1].HasProgress {
				t.Fatalf("round %d: the highest progress is %v, want %v", round, claims[0].Progress, claims[1].Progress)
			}
			n = 0
		}
	}
}
