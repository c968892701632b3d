//go:build kubernetes && linux

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// load is clients of both eras that call without end: each makes a plain call after the other, or streams, too, which half of them
// never resume.
type load struct {
	stop    chan struct{}
	end     context.CancelFunc
	working sync.WaitGroup

	mu   sync.Mutex
	done tally
}

// tally is what became of the calls.
type tally struct {
	calls, streams int
	// cut are those whose connection broke before an event id, which were sent again.
	cut []string
	// broken are streams with an event id whose client never resumes, resumed those that it came back to.
	broken, resumed int
	gap             time.Duration
	gapOf           string
	// takenOver is the longest gap of a stream that was resumed, without the time in which the tool came to where it had been.
	takenOver time.Duration
	// stalled is the longest time by which a timer of this process came late: a machine that is too busy shows itself, not the edge.
	stalled time.Duration
	slow    int // calls with a gap of a second or more
	by      map[string]int
	wrong   []string
}

// Of each revision: clients of plain calls, and of streams. A Service gives each connection to a replica by chance, so the share of one of n
// replicas spreads about the fair one, 1, by the square root of (n-1)/clients at any moment, and by less over ten seconds, in which half of
// the connections are made anew. Measured with five replicas over ten seconds: by 0.12 with 158 clients, so that half of the fair share is
// four of that away; by 0.31 with 20 clients, where one of 22 shares was less than half, whatever the edge did.
const plain, streaming = 75, 4

// step is how long the tool count takes for each event, and longest is how many it is asked for at most.
const (
	step    = 100 * time.Millisecond
	longest = 50
)

// startLoad begins with the clients, and returns when all of them have connected.
func startLoad(t *testing.T, at place) *load {
	t.Helper()
	l := &load{stop: make(chan struct{}), done: tally{by: map[string]int{}}}
	ctx, end := context.WithCancel(context.Background())
	l.end = end
	t.Cleanup(func() { end(); l.working.Wait() })
	l.working.Go(func() { l.watchTime(ctx) })
	for _, revision := range []string{legacy, modern} {
		for n := range plain + streaming {
			c := newClient(at, revision, revision == legacy && n%2 == 0)
			if err := c.connect(ctx); err != nil {
				t.Fatalf("a client of %s: %v", revision, err)
			}
			l.working.Go(func() { l.work(ctx, c, n >= plain) })
		}
	}
	return l
}

// watchTime notes by how much timers come late, until the load is stopped.
func (l *load) watchTime(ctx context.Context) {
	const every = 10 * time.Millisecond
	for last := time.Now(); ; {
		select {
		case <-l.stop:
			return
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		late := time.Since(last) - every
		last = last.Add(every + late)
		l.mu.Lock()
		l.done.stalled = max(l.done.stalled, late)
		l.mu.Unlock()
	}
}

// work makes calls until the load is stopped.
func (l *load) work(ctx context.Context, c *client, streams bool) {
	defer c.http.CloseIdleConnections()
	for {
		select {
		case <-l.stop:
			return
		case <-ctx.Done():
			return
		case <-time.After(rand.N(time.Second)):
		}
		if streams {
			steps := 10 + rand.IntN(longest-9)
			l.call(ctx, c, "count", fmt.Sprintf(`{"steps":%d}`, steps), func(text string) bool { return text == fmt.Sprintf("counted %d", steps) })
			continue
		}
		l.call(ctx, c, "where", "{}", func(text string) bool { return strings.HasPrefix(text, "backend-") })
	}
}

// call makes one call, and makes it again when its connection broke before an event id.
func (l *load) call(ctx context.Context, c *client, tool, arguments string, right func(string) bool) {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	for {
		a, err := c.call(limited, tool, arguments)
		if ctx.Err() != nil {
			return
		}
		if l.count(c, tool, a, err, began, right) {
			return
		}
	}
}

// count notes what became of a call, and says whether it is over.
func (l *load) count(c *client, tool string, a *answer, err error, began time.Time, right func(string) bool) (over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	who := fmt.Sprintf("%s of %s, begun %s", tool, c.revision, began.Format("15:04:05.000"))
	if errors.Is(err, errBroken) && !a.identified {
		l.done.cut = append(l.done.cut, fmt.Sprintf("%s: %v", who, err))
		return false
	}
	l.done.calls++
	if tool == "count" {
		l.done.streams++
	}
	l.done.resumed += a.resumed
	if a.resumed > 0 {
		l.done.takenOver = max(l.done.takenOver, a.gap-time.Duration(a.before)*step)
	}
	if a.gap >= time.Second {
		l.done.slow++
	}
	if a.gap > l.done.gap {
		l.done.gap, l.done.gapOf = a.gap, who
	}
	switch {
	case errors.Is(err, errBroken) && !c.resumes:
		l.done.broken++
	case err != nil:
		l.done.wrong = append(l.done.wrong, fmt.Sprintf("%s: %v", who, err))
	case !right(a.text):
		l.done.wrong = append(l.done.wrong, fmt.Sprintf("%s: %q", who, a.text))
	case tool == "where":
		l.done.by[a.text]++
	}
	return true
}

// leave has the clients end their calls, and returns what became of all of them.
func (l *load) leave() tally {
	close(l.stop)
	l.working.Wait()
	return l.done
}

// byBackend is how many plain calls each instance of the backend has answered until now.
func (l *load) byBackend() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.done.by)
}

func (d tally) String() string {
	return fmt.Sprintf("%d calls, %d of them streams: %d errors, %d cut before an event id and sent again, %d streams broken whose client never "+
		"resumes, %d resumed, longest gap %v (%s), %d of a second or more, timers up to %v late",
		d.calls, d.streams, len(d.wrong), len(d.cut), d.broken, d.resumed, d.gap.Round(time.Millisecond), d.gapOf, d.slow, d.stalled.Round(time.Millisecond))
}

// calm holds what became of calls against what a change that was announced may cost: nothing.
func (d tally) calm(t *testing.T) {
	t.Helper()
	figure(t, "%v", d)
	if d.calls < 100 || d.streams < 10 {
		t.Errorf("only %d calls and %d streams: too little to show anything", d.calls, d.streams)
	}
	if n := len(d.wrong) + len(d.cut) + d.broken; n > 0 {
		t.Errorf("%d calls failed, such as %s", n, some(slices.Concat(d.wrong, d.cut)))
	}
	if d.gap >= time.Second {
		t.Errorf("the longest gap is %v, %s: want less than a second", d.gap, d.gapOf)
	}
}

func some(all []string) string { return strings.Join(all[:min(5, len(all))], "\n") }
