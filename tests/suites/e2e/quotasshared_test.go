package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
)

// attempts are when calls were sent, and how many of them were admitted.
type attempts struct {
	mu       sync.Mutex
	sent     []time.Time
	admitted int
}

func (a *attempts) add(sent time.Time, admitted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = append(a.sent, sent)
	if admitted {
		a.admitted++
	}
}

// refused says whether a call was.
func (a *attempts) refused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.admitted < len(a.sent)
}

// ideal is how many of the calls one limiter admits that all of them come to.
func (a *attempts) ideal(rate float64, burst int) (n int) {
	slices.SortFunc(a.sent, time.Time.Compare)
	left, last := float64(burst), a.sent[0]
	for _, at := range a.sent {
		left = min(left+rate*at.Sub(last).Seconds(), float64(burst))
		last = at
		if left >= 1 {
			left--
			n++
		}
	}
	return n
}

// TestQuotaIsSharedUnderLoad: three replicas on one Redis admit together what one would: no more than a twentieth beyond the burst and
// what was regained in the time that was measured, and not much less than one limiter admits of the same calls, however slowly they come.
func TestQuotaIsSharedUnderLoad(t *testing.T) {
	const lasts, callers = 5 * time.Second, 4 // of each tool
	budgets := map[string]struct {
		rate, burst int
	}{
		// The rates are far below what a busy machine serves.
		"add":  {3, 20},  // of which a call is leased at a time
		"echo": {6, 100}, // and five
	}
	_, edges, _ := startReplicas(t, 3, func(c *config.Config) {
		for tool, b := range budgets {
			c.Quotas = append(c.Quotas, config.Quota{Per: "tool", Tools: []string{tool}, Rate: fmt.Sprint(b.rate, "/1s"), Burst: b.burst})
		}
	})
	arguments := map[string]string{"add": `{"a":1,"b":2}`, "echo": `{"text":"hello"}`}
	found := map[string]*attempts{}
	var work sync.WaitGroup
	began := time.Now()
	for tool := range budgets {
		found[tool] = &attempts{}
		for n := range callers {
			var clients []*stateless
			for _, e := range edges {
				clients = append(clients, newStateless(t, e.URL))
			}
			work.Go(func() {
				for i := n; time.Since(began) < lasts || !found[tool].refused() && time.Since(began) < patience; i++ {
					sent := time.Now()
					r := clients[i%len(clients)].call(tool, arguments[tool])
					if r.status != http.StatusOK && r.status != http.StatusTooManyRequests {
						t.Errorf("%s: %d %s", tool, r.status, r.body)
					}
					found[tool].add(sent, r.status == http.StatusOK)
				}
			})
		}
	}
	work.Wait()
	took := time.Since(began)
	for tool, b := range budgets {
		a := found[tool]
		most, ideal := 1.05*(float64(b.burst)+float64(b.rate)*took.Seconds()), a.ideal(float64(b.rate), b.burst)
		t.Logf("%s: of %d calls in %v %d were admitted; at most %.0f may be, one limiter admits %d", tool, len(a.sent), took, a.admitted, most, ideal)
		if float64(a.admitted) > most || float64(a.admitted) < 0.8*float64(ideal) {
			t.Errorf("%s: %d calls were admitted; want %.0f to %.0f", tool, a.admitted, 0.8*float64(ideal), most)
		}
		if !a.refused() {
			t.Errorf("%s: no call was refused of %d: it tells nothing", tool, len(a.sent))
		}
	}
}
