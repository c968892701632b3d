package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// crowd is the honest clients. Each has an address and a connection of its own, calls, thinks for about half
// a second, and calls again.
type crowd struct {
	late    time.Duration
	end     context.CancelFunc
	working sync.WaitGroup

	mu   sync.Mutex
	done tally
}

// tally is what became of honest calls.
type tally struct {
	calls   int
	late    int
	slowest time.Duration
	lost    []string // how, the first few
}

// gather begins with so many clients as the options say, and returns when each has had an answer. They have tokens of the
// lock; nil: none.
func gather(ctx context.Context, o options, url string, l *lock) (*crowd, error) {
	c := &crowd{late: o.late}
	ctx, c.end = context.WithCancel(ctx)
	began := make(chan error, o.clients)
	for n := range o.clients {
		c.working.Go(func() { c.live(ctx, n, url, l, began) })
	}
	var errs []error
	for range o.clients {
		errs = append(errs, <-began)
	}
	if err := collect(errs); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

// leave ends all clients, and returns when they have.
func (c *crowd) leave() {
	c.end()
	c.working.Wait()
}

// live is the life of one client. Every other one has a session.
func (c *crowd) live(ctx context.Context, n int, url string, l *lock, began chan<- error) {
	r := newRogue(url, fmt.Sprintf("127.0.1.%d", 1+n%250))
	defer r.close()
	r.authorization = l.bearer(fmt.Sprintf("honest-%d", n), url)
	session := ""
	if n%2 == 1 {
		id, err := r.hello(ctx, `{"name":"honest","version":"1"}`)
		if err != nil {
			began <- err
			return
		}
		session = id
	}
	began <- c.call(ctx, r, session, n, 0)
	for i := 1; ; i++ {
		select {
		case <-time.After(250*time.Millisecond + rand.N(500*time.Millisecond)):
		case <-ctx.Done():
			return
		}
		_ = c.call(ctx, r, session, n, i)
	}
}

// call makes one call, and writes down what became of it.
func (c *crowd) call(ctx context.Context, r *rogue, session string, n, i int) error {
	text := fmt.Sprintf("client %d call %d", n, i)
	arguments := fmt.Sprintf(`{"text":%q}`, text)
	limited, cancel := context.WithTimeout(ctx, 3*c.late)
	defer cancel()
	began := time.Now()
	var a *answer
	var err error
	if session == "" {
		a, err = r.call(limited, "echo", arguments)
	} else {
		a, err = r.legacy(limited, session, "tools/call", `{"name":"echo","arguments":`+arguments+`}`)
	}
	took := time.Since(began)
	if ctx.Err() != nil {
		return ctx.Err() // it is this client who leaves
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s", 3*c.late)
	case err != nil:
	case a.status != http.StatusOK || !strings.Contains(string(a.body), text):
		err = fmt.Errorf("status %d: %.200s", a.status, a.body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done.calls++
	c.done.slowest = max(c.done.slowest, took)
	if took > c.late {
		c.done.late++
	}
	if err != nil {
		c.done.lost = append(c.done.lost, fmt.Sprintf("%s after %.1f s: %v", text, took.Seconds(), err))
	}
	return err
}

// mark begins a part of the run.
func (c *crowd) mark() tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done.slowest = 0
	m := c.done
	return m
}

// since is what happened since mark.
func (c *crowd) since(mark tally) tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tally{
		calls: c.done.calls - mark.calls, late: c.done.late - mark.late, slowest: c.done.slowest,
		lost: append([]string(nil), c.done.lost[len(mark.lost):]...),
	}
}
