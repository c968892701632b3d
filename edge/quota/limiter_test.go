package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// shared is a Store that several replicas use, with the time that a round trip takes. It can be away.
type shared struct {
	Memory
	latency  time.Duration
	away     atomic.Bool
	replicas atomic.Int64
	took     atomic.Int64 // round trips that took calls
}

var errAway = errors.New("away")

// sharedBy returns a store that n replicas share.
func sharedBy(n int) *shared {
	s := &shared{}
	s.replicas.Store(int64(n))
	return s
}

func (s *shared) trip() error {
	time.Sleep(s.latency)
	if s.away.Load() {
		return errAway
	}
	return nil
}

func (s *shared) Take(ctx context.Context, key string, b Budget, want int) (int, time.Duration, error) {
	s.took.Add(1)
	if err := s.trip(); err != nil {
		return 0, 0, err
	}
	return s.Memory.Take(ctx, key, b, want)
}

func (s *shared) Return(ctx context.Context, key string, b Budget, n int) error {
	if err := s.trip(); err != nil {
		return err
	}
	return s.Memory.Return(ctx, key, b, n)
}

func (s *shared) Sharing(context.Context) (int, error) {
	if err := s.trip(); err != nil {
		return 0, err
	}
	return int(s.replicas.Load()), nil
}

// replicasOn starts limiters that share a store, until the test ends.
func replicasOn(t *testing.T, s *shared, n int, rules ...Rule) []*Limiter {
	s.replicas.Store(int64(n))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	var out []*Limiter
	for range n {
		x := New(Options{Rules: rules, Store: s, Logger: slog.New(slog.DiscardHandler)})
		running.Go(func() { x.Run(ctx) })
		out = append(out, x)
	}
	time.Sleep(time.Millisecond) // virtual: until each has said that it is there
	return out
}

func perPrincipal(interval time.Duration, burst int) Rule {
	return Rule{Name: "calls", Per: PerPrincipal, Budget: Budget{Interval: interval, Burst: burst}}
}

var ann = &Call{Principal: mcp.Principal{Issuer: "https://id", Subject: "ann"}, Tool: "t", Backend: "b"}

// admitted calls as often as it is let, and counts.
func admitted(t *testing.T, x *Limiter, c *Call, most int) (n int, refused *Refused) {
	t.Helper()
	for range most {
		err := x.Spend(t.Context(), c)
		if errors.As(err, &refused) {
			return n, refused
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n, nil
}

func TestABudgetIsABurstAndARate(t *testing.T) {
	for _, store := range []Store{nil, sharedBy(1)} {
		synctest.Test(t, func(t *testing.T) {
			x := New(Options{Rules: []Rule{perPrincipal(time.Second, 10)}, Store: store})
			n, refused := admitted(t, x, ann, 100)
			if n != 10 || refused == nil || refused.Rule != "calls" || refused.Wait != time.Second {
				t.Fatalf("%d at once, then %+v; want 10, then a second to wait", n, refused)
			}
			time.Sleep(refused.Wait - 1)
			if n, _ := admitted(t, x, ann, 1); n != 0 {
				t.Error("a call was admitted before it was regained")
			}
			time.Sleep(time.Nanosecond)
			if n, _ := admitted(t, x, ann, 2); n != 1 {
				t.Errorf("%d calls after what a refusal said; want 1", n)
			}
			time.Sleep(3500 * time.Millisecond)
			if n, _ := admitted(t, x, ann, 10); n != 3 {
				t.Errorf("%d calls after three and a half seconds more; want 3", n)
			}
			time.Sleep(time.Hour)
			if n, _ := admitted(t, x, ann, 100); n != 10 {
				t.Errorf("%d calls after an hour; want no more than the burst of 10", n)
			}
		})
	}
}

// Three replicas, callers that come and go between them: together they admit the budget, and never more.
func TestReplicasTogetherKeepToABudget(t *testing.T) {
	for _, burst := range []int{1, 7, 50, 400} {
		t.Run(fmt.Sprint(burst), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const interval, long = 10 * time.Millisecond, 30 * time.Second
				replicas := replicasOn(t, &shared{latency: 300 * time.Microsecond}, 3, perPrincipal(interval, burst))
				var total atomic.Int64
				var callers sync.WaitGroup
				began := time.Now()
				for i := range 12 {
					callers.Go(func() {
						r := rand.New(rand.NewPCG(uint64(i), uint64(burst)))
						for time.Since(began) < long {
							if replicas[r.IntN(3)].Spend(t.Context(), ann) == nil {
								total.Add(1)
							}
							time.Sleep(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
						}
					})
				}
				callers.Wait()
				most := float64(burst) + float64(time.Since(began)/interval)
				least := 0.95 * float64(long/interval)
				if burst == 1 {
					least = 0.85 * float64(long/interval) // a call that comes late is not made up for
				}
				if n := float64(total.Load()); n > most || n < least {
					t.Errorf("%.0f calls were admitted; want %.0f to %.0f", n, least, most)
				}
			})
		})
	}
}

func TestWhatIsNotUsedIsGivenBackWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replicas := replicasOn(t, &shared{}, 2, perPrincipal(time.Hour, 100))
		if n, _ := admitted(t, replicas[0], ann, 1); n != 1 {
			t.Fatal("the first call is refused")
		}
		time.Sleep(time.Second)
		if n, _ := admitted(t, replicas[1], ann, 100); n != 99 {
			t.Errorf("%d of the 99 calls that one replica did not use were there for the other", n)
		}
	})
}

// In the steady state calls do not wait for the store.
func TestSteadyCallsDoNotWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{latency: 50 * time.Millisecond}
		x := replicasOn(t, s, 1, perPrincipal(10*time.Millisecond, 200))[0]
		for i := range 1000 {
			began := time.Now()
			if err := x.Spend(t.Context(), ann); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(began); i > 0 && waited > 0 {
				t.Fatalf("call %d waited %s for the store", i, waited)
			}
			time.Sleep(15 * time.Millisecond)
		}
		if n := s.took.Load(); n > 1000/5 {
			t.Errorf("%d round trips for 1000 calls", n)
		}
	})
}

// A caller that is refused repeatedly does not reach the store each time.
func TestAFloodOfRefusedCallsSparesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{}
		x := replicasOn(t, s, 1, perPrincipal(time.Hour, 10))[0]
		_, _ = admitted(t, x, ann, 11)
		before := s.took.Load()
		for range 1000 {
			if n, _ := admitted(t, x, ann, 1); n != 0 {
				t.Fatal("a call was admitted")
			}
			time.Sleep(time.Millisecond)
		}
		if n := s.took.Load() - before; n > 2 {
			t.Errorf("%d round trips in a second of refused calls", n)
		}
	})
}

// While the store is away, each replica admits its share and no more; afterwards all is shared again.
func TestAReplicaKeepsToItsShareWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{}
		replicas := replicasOn(t, s, 3, perPrincipal(time.Second, 30))
		s.away.Store(true)
		for i, x := range replicas {
			if n, refused := admitted(t, x, ann, 100); n != 10 || refused == nil {
				t.Errorf("replica %d admitted %d calls without the store; its share is 10", i, n)
			}
			if x.Unshared() == 0 {
				t.Errorf("replica %d does not tell that it was on its own", i)
			}
		}
		time.Sleep(30 * time.Second)
		for i, x := range replicas {
			if n, _ := admitted(t, x, ann, 100); n != 10 {
				t.Errorf("replica %d admitted %d calls in its share of 30 s", i, n)
			}
		}
		s.away.Store(false)
		if n, _ := admitted(t, replicas[0], ann, 100); n != 30 {
			t.Errorf("%d calls were admitted of an unused budget; want 30", n)
		}
	})
}

// A store that is back counts the replicas that have found it. Should it go away again before the others have, a replica still keeps to its share.
func TestAStoreThatComesAndGoesGivesNoLargerShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{}
		x := replicasOn(t, s, 3, perPrincipal(time.Second, 30))[0]
		share := func(what string, want int) {
			t.Helper()
			s.away.Store(true)
			time.Sleep(40 * time.Second) // The budget is whole.
			if n, _ := admitted(t, x, ann, 100); n != want {
				t.Errorf("%d calls were admitted %s, want %d", n, what, want)
			}
		}
		share("while the store is away", 10)
		s.away.Store(false)
		s.replicas.Store(1)
		time.Sleep(2 * sweepEvery)
		share("after one replica alone has found the store", 10)
		s.away.Store(false)
		time.Sleep(settleTime + 2*sweepEvery)
		share("after the others were not seen for long enough", 30)
	})
}

// A call that one rule refuses is not charged to the others.
func TestARefusedCallCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, store := range []Store{nil, sharedBy(1)} {
			x := New(Options{Store: store, Rules: []Rule{
				perPrincipal(time.Hour, 5),
				{Name: "dear", Per: PerPrincipal, Tools: pattern.NewList([]string{"dear"}), Budget: Budget{Interval: time.Hour, Burst: 1}},
			}})
			dear := *ann
			dear.Tool = "dear"
			if n, refused := admitted(t, x, &dear, 10); n != 1 || refused.Rule != "dear" {
				t.Fatalf("%d, %+v", n, refused)
			}
			_, _ = admitted(t, x, &dear, 1)
			if n, refused := admitted(t, x, ann, 10); n != 4 || refused.Rule != "calls" {
				t.Errorf("%d other calls were admitted, then %+v; want 4 of the 5", n, refused)
			}
			refused := map[string]int64{}
			x.Refusals(func(rule string, n int64) { refused[rule] = n })
			if refused["calls"] != 1 || refused["dear"] != 2 {
				t.Errorf("refusals: %v", refused)
			}
		}
	})
}

// Budgets that are whole again are forgotten, leases too, and beyond the bound keys share one.
func TestMemoryOfQuotasIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{}
		x := replicasOn(t, s, 1, perPrincipal(time.Millisecond, 100))[0]
		for i := range 1000 {
			c := *ann
			c.Principal.Subject = fmt.Sprint(i)
			if err := x.Spend(t.Context(), &c); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * time.Second)
		left := 0
		x.leases.Range(func(any, any) bool { left++; return true })
		if left != 0 {
			t.Errorf("%d leases are left of callers that went", left)
		}
		_ = x.Spend(t.Context(), ann)
		if n := len(s.full); n != 1 {
			t.Errorf("%d budgets are kept of which one is in use", n)
		}
		var m Memory
		b := Budget{Interval: time.Hour, Burst: 3}
		for i := range maxKeys {
			_, _, _ = m.Take(t.Context(), fmt.Sprint(i), b, 1)
		}
		spent := 0
		for i := range 10 {
			n, _, _ := m.Take(t.Context(), fmt.Sprint("more", i), b, 1)
			spent += n
		}
		if spent != 3 || len(m.full) > maxKeys+1 {
			t.Errorf("%d calls of keys beyond the bound were admitted, and %d keys are kept", spent, len(m.full))
		}
	})
}

func BenchmarkSpend(b *testing.B) {
	for name, s := range map[string]Store{"local": nil, "leased": sharedBy(1)} {
		b.Run(name, func(b *testing.B) {
			x := New(Options{Rules: []Rule{perPrincipal(time.Microsecond, 1_000_000)}, Store: s})
			b.ReportAllocs()
			for b.Loop() {
				_ = x.Spend(context.Background(), ann)
			}
		})
	}
}

// Other rules are in force at once: what was used of a budget stays used, but counts for no more than all of it now, and
// what a replica had taken and not used is given back.
func TestRulesAreExchanged(t *testing.T) {
	for _, store := range []Store{nil, sharedBy(1)} {
		synctest.Test(t, func(t *testing.T) {
			rule := perPrincipal(time.Hour, 100)
			x := New(Options{Rules: []Rule{rule}, Store: store})
			if n, _ := admitted(t, x, ann, 60); n != 60 {
				t.Fatalf("%d of 60 calls", n)
			}
			if x.SetRules([]Rule{rule}) {
				t.Error("the same rules are others")
			}
			if n, _ := admitted(t, x, ann, 10); n != 10 {
				t.Fatalf("%d of 10 calls", n)
			}
			rule.Budget.Burst = 200
			if !x.SetRules([]Rule{rule}) {
				t.Error("a larger budget is no other rule")
			}
			// The call that finds the lease of the budget before has it given back beside it.
			n, _ := admitted(t, x, ann, 1)
			synctest.Wait()
			more, refused := admitted(t, x, ann, 300)
			if n += more; n != 130 || refused == nil {
				t.Errorf("%d calls of a budget of 200, of which 70 were used", n)
			}
			x.SetRules([]Rule{perPrincipal(time.Second, 5)})
			if n, refused = admitted(t, x, ann, 10); n != 0 || refused == nil || refused.Wait > time.Second {
				t.Errorf("%d calls of a smaller budget that was used up, then %+v; want none, and one in a second", n, refused)
			}
			time.Sleep(time.Minute)
			if n, _ = admitted(t, x, ann, 10); n != 5 {
				t.Errorf("%d calls after a minute; want 5", n)
			}
			other := perPrincipal(time.Second, 7)
			other.Name = "others"
			x.SetRules([]Rule{other})
			if n, _ = admitted(t, x, ann, 10); n != 7 {
				t.Errorf("%d calls of a rule with another name; want 7", n)
			}
			counts := map[string]int64{}
			x.Refusals(func(rule string, n int64) { counts[rule] = n })
			if counts["calls"] != 3 || counts["others"] != 1 {
				t.Errorf("refused: %v; want what each rule refused, also of the one that is gone", counts)
			}
			x.SetRules(nil)
			if n, _ = admitted(t, x, ann, 10); n != 10 {
				t.Error("a call is refused without a rule")
			}
		})
	}
}

// Rules are exchanged while calls are made: none is judged by two.
func TestRulesAreExchangedUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{latency: time.Millisecond}
		x := replicasOn(t, s, 1, perPrincipal(time.Millisecond, 50))[0]
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for range 2_000 {
					var refused *Refused
					if err := x.Spend(t.Context(), ann); err != nil && !errors.As(err, &refused) {
						t.Error(err)
					}
					time.Sleep(100 * time.Microsecond)
				}
			})
		}
		for i := range 100 {
			time.Sleep(2 * time.Millisecond)
			x.SetRules([]Rule{perPrincipal(time.Millisecond, 50+50*(i%2))})
		}
		callers.Wait()
		x.SetRules([]Rule{perPrincipal(time.Minute, 100)})
		time.Sleep(2 * time.Hour)
		n, _ := admitted(t, x, ann, 200)
		time.Sleep(time.Second) // virtual: until what was taken ahead has come
		if n != 100 {
			t.Errorf("%d calls of a whole budget of 100", n)
		}
	})
}
