package runtime

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type counted struct {
	from, n int
}

// counter is a machine that records the order of its events and detects concurrent use.
type counter struct {
	box inbox[counted, counted]
	// busy is written without a lock by both step and do: -race reports concurrent use.
	busy  int
	last  map[int]int
	seen  int
	echo  int
	wrong []counted
}

func (c *counter) step(e counted, effects []counted) []counted {
	c.busy++
	if e.n != c.last[e.from]+1 {
		c.wrong = append(c.wrong, e)
	}
	c.last[e.from] = e.n
	c.seen++
	return append(effects, e)
}

func (c *counter) do(e *counted) {
	c.busy++
	if e.from != 0 && e.n%5 == 0 { // The machine posts to itself.
		c.echo++
		c.box.post(c, counted{0, c.echo})
	}
}

// Events of many concurrent goroutines are taken once each, in the order of each poster, and never
// two at a time.
func TestInboxIsInOrder(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			c := &counter{last: map[int]int{}}
			var wg sync.WaitGroup
			for from := 1; from <= 8; from++ {
				wg.Go(func() {
					for n := 1; n <= 100; n++ {
						c.box.post(c, counted{from, n})
						if n%7 == from {
							time.Sleep(time.Duration(from) * time.Millisecond)
						}
					}
				})
			}
			wg.Wait()
			c.box.inspect(func() {
				if len(c.wrong) > 0 || c.seen != 8*100+8*20 || c.box.draining || len(c.box.queue) > 0 {
					t.Errorf("%d events seen, %d left, out of order: %v", c.seen, len(c.box.queue), c.wrong)
				}
			})
		})
	}
}

// echoing is a machine whose first effect posts an event to it.
type echoing struct {
	box  inbox[string, string]
	seen []string
}

func (m *echoing) step(e string, effects []string) []string {
	m.seen = append(m.seen, e)
	return append(effects, e)
}

func (m *echoing) do(e *string) {
	if *e == "first" {
		m.box.post(m, "echo of the first")
	}
}

// Events that are posted together are taken before the effects of the first of them. So all calls
// of an exchange are started before one of them begins the exchange's records.
func TestInboxKeepsPostedEventsTogether(t *testing.T) {
	m := new(echoing)
	m.box.postAll(m, []string{"first", "second"})
	if want := []string{"first", "second", "echo of the first"}; !slices.Equal(m.seen, want) {
		t.Errorf("the machine saw %q, want %q", m.seen, want)
	}
}
