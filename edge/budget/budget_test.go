package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// For random callers: never more than the limit is admitted; when the budget is full, no holder is
// admitted that then holds more than an equal share; a holder without reservations is admitted
// while the last tenth has room; and the counts equal what is held.
func TestPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(10, 1000).Draw(t, "limit")
		b := New(limit)
		type piece struct {
			who  int
			held *Reservation
		}
		var pieces []piece
		held := func(who int) (n int64) {
			for _, p := range pieces {
				if p.who == who {
					n += p.held.Held(Requests)
				}
			}
			return n
		}
		active := func() (n int) {
			for who := range 6 {
				if held(who) > 0 {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			who := rapid.IntRange(0, 5).Draw(t, "who")
			n := rapid.Int64Range(1, limit).Draw(t, "bytes")
			before, _ := b.Used()
			own, holders := held(who)+n, active()
			if held(who) == 0 {
				holders++
			}
			switch rapid.SampledFrom([]string{"reserve", "reserve", "grow", "shrink", "release"}).Draw(t, "step") {
			case "reserve", "grow":
				r := b.Named(fmt.Sprint(who)).Begin()
				p := piece{who, &r}
				for _, old := range pieces {
					if old.who == who {
						p = old
					}
				}
				if p.held == &r {
					pieces = append(pieces, p)
				}
				err := p.held.Grow(Requests, n)
				share := (limit - limit/10) / int64(holders)
				full := before+n > limit-limit/10
				want := before+n <= limit && (!full || own <= share)
				if (err == nil) != want {
					t.Fatalf("%d bytes for one of %d holders, which then holds %d, at %d of %d: %v, want admitted %t", n, holders, own, before, limit, err, want)
				}
				if f := (*Full)(nil); err != nil && (!errors.As(err, &f) || f.Own != own-n || f.Share != share || f.Holders != holders) {
					t.Fatalf("the error is %#v; want own %d, share %d, holders %d", err, own-n, share, holders)
				}
			case "shrink":
				for _, p := range pieces {
					if p.who == who {
						p.held.Shrink(Requests, n)
					}
				}
			case "release":
				for i := range pieces {
					if pieces[i].who == who {
						pieces[i].held.Release()
					}
				}
			}
			used, count := b.Used()
			sum := int64(0)
			for who := range 6 {
				sum += held(who)
			}
			if used != sum || used > limit || count != active() || b.UsedFor(Requests) != sum {
				t.Fatalf("%d bytes of %d holders are counted, %d for requests; %d of %d are held, limit %d", used, count, b.UsedFor(Requests), sum, active(), limit)
			}
		}
	})
}

// With concurrent use, the limit holds at every moment, and nothing is left after all is released.
func TestConcurrent(t *testing.T) {
	const limit = 1 << 20
	b := New(limit)
	var over, work sync.WaitGroup
	done := make(chan struct{})
	over.Go(func() {
		for {
			if used, _ := b.Used(); used > limit {
				t.Errorf("%d bytes of %d", used, limit)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range 16 {
		work.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for range 3000 {
				// More names than a shard keeps, so that holders are removed and come back.
				h := b.Named(fmt.Sprint(random.IntN(20_000) % (1 + random.IntN(20_000))))
				r, err := h.Reserve(Purpose(random.IntN(int(purposes))), 1+random.Int64N(limit/8))
				if err == nil {
					_ = r.Grow(Results, random.Int64N(limit/8))
					r.Shrink(Results, random.Int64N(limit/8))
				}
				r.Release()
				r.Release()
			}
		})
	}
	work.Wait()
	close(done)
	over.Wait()
	used, holders := b.Used()
	if used != 0 || holders != 0 {
		t.Errorf("%d bytes of %d holders are left", used, holders)
	}
	for _, w := range All() {
		if n := b.UsedFor(w); n != 0 {
			t.Errorf("%d bytes are left for %s", n, w)
		}
	}
	if n := b.table.size(); n > 2*leastTable*len(b.table.shards) {
		t.Errorf("the table keeps %d holders that hold nothing", n)
	}
}

// A new holder finds room beside a holder that took all it could, again and again.
func TestNewcomers(t *testing.T) {
	b := New(1000)
	hog := b.Named("hog").Begin()
	for hog.Grow(Logs, 10) == nil {
	}
	if used, _ := b.Used(); used != 900 {
		t.Fatalf("a single holder holds %d of 1000, want 900", used)
	}
	for i := range 50 {
		r, err := b.Named(fmt.Sprint(i)).Reserve(Requests, 2)
		if err != nil {
			t.Fatalf("newcomer %d: %v", i, err)
		}
		defer r.Release()
		if hog.Grow(Logs, 1) == nil {
			t.Fatal("the full holder got more")
		}
	}
	if got := b.Refused(Logs); got != 51 {
		t.Errorf("%d refusals are counted, want 51", got)
	}
}

// Forced bytes of one holder take nothing of the last tenth, which new holders find unchanged, and
// nothing is left in the end.
func TestForced(t *testing.T) {
	const limit, busy = 1000, 900
	b := New(limit)
	check := func(what string, used int64, holders int) {
		t.Helper()
		if n, who := b.Used(); n != used || who != holders {
			t.Errorf("%s: %d bytes of %d holders are counted, want %d of %d", what, n, who, used, holders)
		}
	}
	hog, more := b.Named("hog").Begin(), b.Named("hog").Begin()
	hog.Force(Results, 800)
	more.Force(Results, 5000)
	check("forced", 5800, 1)
	var newcomers []*Reservation
	for i := range 50 {
		r, err := b.Named(fmt.Sprint(i)).Reserve(Requests, 2)
		if err != nil {
			t.Fatalf("newcomer %d, beside a holder that was forced beyond the limit: %v", i, err)
		}
		newcomers = append(newcomers, &r)
		if more.Grow(Results, 1) == nil {
			t.Fatal("the full holder got more")
		}
	}
	check("newcomers", 5900, 51)
	if r, err := b.Named("late").Reserve(Requests, 2); err == nil {
		t.Errorf("%d bytes beyond the limit were admitted", r.Held(Requests))
	}
	// Forced bytes of a new holder take nothing of the tenth either.
	newcomers[0].Force(Results, 10)
	newcomers[1].Release()
	if _, err := b.Named("late").Reserve(Requests, 2); err != nil {
		t.Errorf("after one holder left, another was not admitted: %v", err)
	}
	b.Named("late").give(2)
	hog.Release()
	check("800 less", 5108, 50)
	if more.Grow(Results, 1) == nil {
		t.Error("the full holder got more, at five times the limit")
	}
	more.Release()
	check("the full holder has left", 108, 49)
	if r, err := b.Named("other").Reserve(Logs, busy-108); err != nil {
		t.Errorf("nine tenths are not available again: %v", err)
	} else {
		r.Release()
	}
	for _, r := range newcomers {
		r.Release()
	}
	check("all have left", 0, 0)
	if over := b.over.Load(); over != 0 {
		t.Errorf("%d bytes are over", over)
	}
}

func TestHolderIdentity(t *testing.T) {
	b := New(1000)
	addr := netip.MustParseAddr
	for _, same := range [][2]*Holder{
		{b.Holder("i", "s", addr("192.0.2.1")), b.Holder("i", "s", addr("192.0.2.2"))},
		{b.Holder("", "", addr("192.0.2.1")), b.Holder("", "", addr("192.0.2.1"))},
		{b.Holder("", "", netip.Addr{}), b.Holder("", "", netip.Addr{})},
		{b.Client("i", "s"), b.Client("i", "s")},
	} {
		if same[0] != same[1] {
			t.Errorf("%s and %s are two holders", same[0], same[1])
		}
	}
	for _, other := range [][2]*Holder{
		{b.Holder("i", "s", netip.Addr{}), b.Holder("j", "s", netip.Addr{})},
		{b.Holder("", "", addr("192.0.2.1")), b.Holder("", "", addr("192.0.2.2"))},
		{b.Holder("", "admin", netip.Addr{}), b.Named("admin")},
		{b.Holder("i", "s", netip.Addr{}), b.Client("i", "s")},
		{b.Client("i", "s"), b.Client("j", "s")},
	} {
		if other[0] == other[1] {
			t.Errorf("%s and %s are one holder", other[0], other[1])
		}
	}
}

// Without a budget everything is admitted and nothing is counted.
func TestNoBudget(t *testing.T) {
	b := New(0)
	h := b.Holder("i", "s", netip.Addr{})
	r, err := h.Reserve(Requests, 1<<60)
	p, perr := h.Permit(t.Context(), Results, 1<<60, true)
	var none *Reservation
	if b != nil || h != nil || err != nil || perr != nil || none.Grow(Calls, 1) != nil || none.Check() != nil {
		t.Errorf("%v, %v, %v, %v", b, h, err, perr)
	}
	p.Release()
	r.Settle(Results, 1)
	r.Offer(Results, 1)
	none.Force(Results, 1)
	none.Settle(Results, 1)
	r.Release()
	none.Release()
}

// An offer is held without room, and Check reports it.
func TestOffer(t *testing.T) {
	b := New(1000)
	r := b.Named("a").Begin()
	r.Offer(Requests, 900)
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	more := b.Named("a").Begin()
	more.Offer(Requests, 50)
	if err := more.Check(); err == nil || !strings.Contains(err.Error(), "50 bytes were needed, and 950 are held for you") {
		t.Errorf("the error is %v", err)
	}
	more.Release()
	if used, _ := b.Used(); used != 900 || more.Check() != nil {
		t.Errorf("%d bytes are held", used)
	}
}

// A permit holds its bytes until it is released or has lapsed.
func TestPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, n = 100 << 20, 32 << 20
		b := New(limit)
		for _, measured := range []bool{true, false} {
			p, err := b.Named("a").Permit(t.Context(), Results, n, measured)
			if used, _ := b.Used(); err != nil || used != n {
				t.Errorf("%d bytes, %v; want %d", used, err, n)
			}
			p.Release()
			p.Release()
			if used, _ := b.Used(); used != 0 {
				t.Errorf("%d bytes are held by a permit that was released", used)
			}
		}
		p, err := b.Named("a").Permit(t.Context(), Results, 10*limit, true)
		if used, _ := b.Used(); err != nil || used != limit*9/20 {
			t.Errorf("%d bytes, %v; want half of nine tenths", used, err)
		}
		time.Sleep(2 * permitTimeout)
		if used, _ := b.Used(); used != 0 {
			t.Errorf("%d bytes are held by a permit that was not used", used)
		}
		p.Release()
	})
}

// Without room, measured messages wait for it, and one unmeasured message at a time is received.
func TestPermitWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, n = 100 << 20, 32 << 20
		b := New(limit)
		hog, err := b.Named("hog").Reserve(Logs, limit*9/10)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Named("a").Permit(short, Results, n, true); err == nil || b.Refused(Results) != 1 {
			t.Errorf("%v; %d refusals", err, b.Refused(Results))
		}
		// A message that fits a share and the last tenth is received beside the full holder.
		small, err := b.Named("a").Permit(t.Context(), Results, limit/20, true)
		if err != nil {
			t.Fatal(err)
		}
		defer small.Release()

		first, err := b.Named("a").Permit(t.Context(), Results, n, false)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan *Permit)
		go func() {
			p, err := b.Named("b").Permit(t.Context(), Results, n, false)
			if err != nil {
				t.Error(err)
			}
			got <- p
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("two permits are granted without room")
		default:
		}
		first.Release()
		second := <-got
		// after the second has lapsed
		third, err := b.Named("c").Permit(t.Context(), Results, n, false)
		if err != nil {
			t.Fatal(err)
		}
		second.Release() // too late, and not the third's
		if b.unmeasured.CompareAndSwap(false, true) {
			t.Error("a late release ended another permit")
		}
		third.Release()
		hog.Release()
		small.Release()
		if used, holders := b.Used(); used != 0 || holders != 0 || b.unmeasured.Load() {
			t.Errorf("%d bytes of %d holders are left", used, holders)
		}
	})
}

// However much is released while many wait, the waiters retry only at intervals.
func TestWaitersAreNotWokenByEveryRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters, requests = 100, 1000
		b := New(1000)
		hog, _ := b.Named("hog").Reserve(Logs, 900)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var tries atomic.Int64
		var waiting sync.WaitGroup
		for range waiters {
			waiting.Go(func() { b.await(ctx, func() bool { tries.Add(1); return false }) })
		}
		synctest.Wait()
		for range requests {
			r, err := b.Named("newcomer").Reserve(Requests, 1)
			if err != nil {
				t.Fatal(err)
			}
			r.Release()
			synctest.Wait()
		}
		time.Sleep(time.Second)
		if n := tries.Load(); n != 2*waiters {
			t.Errorf("%d waiters tried %d times; want once, and once after the releases", waiters, n)
		}
		cancel()
		waiting.Wait()
		hog.Release()
	})
}

// Before a holder waits for a permit, memory that it can do without is freed.
func TestPermitReclaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1000)
		spare, _ := b.Named("a").Reserve(Logs, 700)
		b.OnRefusal(func(*Holder) bool {
			spare.Release()
			return true
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p, err := b.Named("a").Permit(ctx, Results, 400, true)
		if err != nil {
			t.Fatal(err)
		}
		p.Release()
	})
}

// Before a holder is refused, memory that it can do without is freed.
func TestReclaim(t *testing.T) {
	b := New(1000)
	spare, _ := b.Named("a").Reserve(Logs, 800)
	asked := 0
	b.OnRefusal(func(h *Holder) bool {
		if h != b.Named("a") {
			t.Errorf("%s is asked", h)
		}
		asked++
		held := spare.Held(Logs)
		spare.Release()
		return held > 0
	})
	if _, err := b.Named("a").Reserve(Requests, 500); err != nil || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// Operators are notified of the first refusal at once, and of later ones at intervals.
func TestOnFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1000)
		var reports []Full
		b.OnFull(func(f Full) { reports = append(reports, f) })
		r, _ := b.Holder("", "alice", netip.Addr{}).Reserve(Sessions, 900)
		defer r.Release()
		for range 3 {
			for range 5 {
				_ = r.Grow(Sessions, 50)
			}
			time.Sleep(reportEvery)
		}
		if len(reports) != 3 || reports[0].Refusals != 1 || reports[1].Refusals != 5 || reports[0].Holder != `principal "alice"` {
			t.Errorf("got %+v", reports)
		}
	})
}

func BenchmarkReservation(bench *testing.B) {
	b := New(1 << 40)
	addr := netip.MustParseAddr("192.0.2.1")
	bench.ReportAllocs()
	bench.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := b.Holder("", "", addr).Begin()
			r.Offer(Requests, 32<<10)
			r.Release()
		}
	})
}
