package statetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// crowd is the number of participants of a race, rounds how often it runs.
const (
	crowd  = 8
	rounds = 10
)

var races = []test{
	{"many answers give one claim", state.Limits{}, manyAnswers},
	{"concurrent claims of one epoch have one winner", state.Limits{}, func(w *world) {
		x := w.three()
		which := x.which()
		for range rounds {
			var wins atomic.Int32
			var next atomic.Pointer[medium.ClaimTarget]
			w.race(func(i int, s *replica) {
				c, err := s.Claim(w.Context(), which)
				switch {
				case err == nil:
					wins.Add(1)
					n := which
					n.Epoch = c.Epoch
					next.Store(&n)
				case !errors.Is(err, state.ErrFenced):
					w.Errorf("claim: %v", err)
				}
			})
			if wins.Load() != 1 {
				w.Fatalf("%d winners", wins.Load())
			}
			which = *next.Load()
		}
	}},
	{"an owner and its heir write one response", state.Limits{}, ownerAndHeir},
	{"what is given back at once, by many and in any order, is what was known last", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		for i := range rounds {
			stream := fmt.Sprint("st", i)
			back := w.m.Snapshot(w.T, "s")
			x := w.begin(w.a, "s", stream, stream)[0]
			var known []writer
			for n := range 3 {
				x.append(notice(fmt.Sprint(n)), progress(float64(n)))
				known = append(known, *x)
			}
			back()
			w.race(func(i int, _ *replica) {
				rec, entries := known[i%3].rec, known[i%3].entries
				if _, err := w.a.Restore(w.Context(), &rec, entries, true); err != nil {
					w.Error(err)
				}
			})
			x.append(notice("3"))
			x.finish()
			if got, last := w.all(w.b, "s", stream); len(got) != 8 || !last.Ended {
				w.Fatalf("the log is %q, ended %v", got, last.Ended)
			}
		}
	}},
	{"a reader that follows sees every entry once, in order", state.Limits{}, following},
	{"patches are not lost", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		w.race(func(i int, s *replica) {
			for j := range rounds {
				_, err := s.Update(w.Context(), "s", state.Patch{Subscribe: fmt.Sprint(i, "/", j), Attach: true})
				if err != nil {
					w.Error(err)
				}
			}
		})
		got, err := w.b.Load(w.Context(), "s")
		w.must(err)
		if n := crowd * rounds; len(got.Subscriptions) != n+1 || got.Attachment != uint64(n)+4 || got.Serial != uint64(n)+5 {
			w.Errorf("%d subscriptions, attachment %d, serial %d after %d patches", len(got.Subscriptions), got.Attachment, got.Serial, n)
		}
	}},
	{"deleting under load leaves nothing", state.Limits{SessionsPerPrincipal: 1}, deleting},
	{"the limit on sessions holds", state.Limits{SessionsPerPrincipal: 3}, func(w *world) {
		var made atomic.Int32
		w.race(func(i int, s *replica) {
			switch err := s.Create(w.Context(), record(fmt.Sprint(i))); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, state.ErrLimit):
				w.Errorf("create: %v", err)
			}
		})
		if made.Load() != 3 {
			w.Errorf("%d sessions, want 3", made.Load())
		}
	}},
}

// race runs fn in a crowd, at once, on alternating replicas.
func (w *world) race(fn func(i int, s *replica)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range crowd {
		wg.Go(func() {
			<-start
			fn(i, []*replica{w.a, w.b}[i%2])
		})
	}
	close(start)
	wg.Wait()
}

func manyAnswers(w *world) {
	x := w.three()
	for round := range rounds {
		var ids []string
		for i := range 3 {
			ids = append(ids, fmt.Sprint("q", round, i))
		}
		x.park(ids...)
		var count [4]atomic.Int32
		var claimed atomic.Pointer[medium.Record]
		var owner atomic.Pointer[*replica]
		w.race(func(i int, s *replica) {
			for j := range ids {
				out, c, err := s.Answer(w.Context(), "s", ids[(i+j)%3], answer("x"))
				if err != nil {
					w.Error(err)
				}
				count[out].Add(1)
				if out == state.AnswerCompleted {
					claimed.Store(c)
					owner.Store(&s)
				}
			}
		})
		if taken, done := count[state.AnswerTaken].Load(), count[state.AnswerCompleted].Load(); taken != 2 || done != 1 || count[state.AnswerUnknown].Load() != 0 {
			w.Fatalf("%d taken and %d completed, want 2 and 1", taken, done)
		}
		c := claimed.Load()
		if len(answered(c)) != 3 || c.Request.Round != round+2 {
			w.Fatalf("%d answers, round %d, want 3 and %d", len(answered(c)), c.Request.Round, round+2)
		}
		x = w.under(*owner.Load(), c)
	}
}

func ownerAndHeir(w *world) {
	w.session(w.a, "s")
	for i := range rounds {
		stream := fmt.Sprint("st", i)
		x := w.begin(w.a, "s", stream, stream)[0]
		var responses atomic.Int32
		end := func(x *writer) {
			for n := range 5 {
				err := x.s.Append(w.Context(), x.next(), notice(fmt.Sprint(x.rec.Epoch.Counter(), "/", n)))
				if err != nil && !errors.Is(err, state.ErrFenced) {
					w.Error(err)
				}
				if err != nil {
					return
				}
			}
			if x.s.Finish(w.Context(), x.next(), response(stream)) == nil {
				responses.Add(1)
			}
		}
		var wg sync.WaitGroup
		which := x.which()
		wg.Go(func() { end(x) })
		wg.Go(func() {
			c, err := w.b.Claim(w.Context(), which)
			if err == nil {
				end(w.under(w.b, c))
			} else if !errors.Is(err, state.ErrFenced) {
				w.Error(err)
			}
		})
		wg.Wait()
		entries, last := w.read(w.b, "s", at{Stream: stream}, 0)
		if responses.Load() != 1 || !last.Ended || entries[len(entries)-1].Kind != state.EntryResponse {
			w.Fatalf("%d responses, ended %v: %q", responses.Load(), last.Ended, texts(entries))
		}
		heir := false
		for _, e := range entries[:len(entries)-1] {
			byHeir := string(e.Data[:len(`{"notice":"2`)]) == `{"notice":"2`
			if heir && !byHeir {
				w.Fatalf("the owner wrote after its heir: %q", texts(entries))
			}
			heir = byHeir
		}
	}
}

func following(w *world) {
	const total = 200
	w.session(w.a, "s")
	x := w.begin(w.a, "s", "st", "c")[0]
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			s := []*replica{w.a, w.b}[i%2]
			wake, stop := s.Follow("s", "st")
			defer stop()
			after, seen := at{Stream: "st", Epoch: first}, 0
			for {
				p, err := s.Read(w.Context(), "s", after, 1+i*7)
				if err != nil {
					w.Error(err)
					return
				}
				for _, e := range p.Entries {
					if want := fmt.Sprintf(`{"notice":"%d"}`, seen); seen < total && string(e.Data) != want {
						w.Errorf("read %s, want %s", e.Data, want)
						return
					}
					seen, after.Seq = seen+1, e.Seq
				}
				if p.Ended {
					if seen != total+1 {
						w.Errorf("%d entries, want %d", seen, total+1)
					}
					return
				}
				if len(p.Entries) > 0 {
					continue
				}
				select {
				case <-wake:
				case <-time.After(patience):
					w.Errorf("not woken after entry %d within %v", seen, patience)
					return
				}
			}
		})
	}
	for i := range total {
		if err := w.a.Append(w.Context(), x.next(), notice(fmt.Sprint(i))); err != nil {
			w.Error(err)
		}
	}
	if err := w.a.Finish(w.Context(), x.next(), response("c")); err != nil {
		w.Error(err)
	}
	wg.Wait()
}

func deleting(w *world) {
	for round := range rounds {
		w.session(w.a, "s")
		var deleted atomic.Int32
		w.race(func(i int, s *replica) {
			stream := fmt.Sprint("st", round, i)
			records, err := s.Begin(w.Context(), "s", stream, []state.Request{callOf(stream)})
			if err == nil {
				_, stop := s.Follow("s", stream)
				defer stop()
				_ = s.Append(w.Context(), w.under(s, records[0]).next(), notice("1"))
			} else if !errors.Is(err, state.ErrNotFound) {
				w.Error(err)
			}
			if s.Delete(w.Context(), "s") == nil {
				deleted.Add(1)
			}
		})
		// Later deletions find it erased.
		if deleted.Load() != crowd {
			w.Fatalf("%d of %d have deleted it", deleted.Load(), crowd)
		}
		_, err := w.a.Load(w.Context(), "s")
		w.want(state.ErrNotFound, err)
	}
	w.must(w.a.Leave(w.Context()))
	w.must(w.b.Leave(w.Context()))
	if list, err := w.replica("third").Orphans(w.Context(), 100); err != nil || len(list) != 0 {
		w.Errorf("orphans %v: %v", list, err)
	}
}
