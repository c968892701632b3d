// Package load is a lean HTTP/1.1 load generator: it shares the machine with what it measures, so it
// spends as little as it can.
package load

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// Call is one unit of work on a connection: one request with its answer, or several that belong together.
// An answer that is not as wanted is an error. Many connections use it at once.
type Call func(*Conn) error

// Result of one run.
type Result struct {
	Calls     int
	Elapsed   time.Duration
	Latencies []time.Duration
	// Delays of the events, from the sender's clock to ours, which are the same machine's.
	Delays []time.Duration
}

// PerSecond is the throughput.
func (r Result) PerSecond() float64 { return float64(r.Calls) / r.Elapsed.Seconds() }

// Run keeps n connections to a host:port busy for d, each with one call after the other, and at least one. Where
// there are several calls, each connection makes one of them, in turn.
func Run(addr string, calls []Call, n int, d time.Duration) (Result, error) {
	conns := make([]*Conn, n)
	for i := range conns {
		c, err := dial(addr, nil, 16<<10)
		if err != nil {
			return Result{}, err
		}
		defer c.c.Close()
		conns[i] = c
	}
	var wg sync.WaitGroup
	errs := make(chan error, n)
	start := time.Now()
	for i, c := range conns {
		call := calls[i%len(calls)]
		wg.Go(func() {
			for {
				sent := time.Now()
				if len(c.latencies) > 0 && sent.Sub(start) >= d {
					return
				}
				if err := call(c); err != nil {
					errs <- err
					return
				}
				c.latencies = append(c.latencies, time.Since(sent))
			}
		})
	}
	wg.Wait()
	r := Result{Elapsed: time.Since(start)}
	for _, c := range conns {
		r.Calls += len(c.latencies)
		r.Latencies = append(r.Latencies, c.latencies...)
		r.Delays = append(r.Delays, c.delays...)
	}
	select {
	case err := <-errs:
		return r, err
	default:
		return r, nil
	}
}

// Once makes a single call on a connection of its own.
func Once(addr string, call Call) error {
	c, err := dial(addr, nil, 16<<10)
	if err != nil {
		return err
	}
	defer c.c.Close()
	return call(c)
}

// Wanting is the call that sends r and wants a 200 with a text in its body, and so many events that carry
// the time they were sent at.
func Wanting(r Request, want string, events int) Call {
	wanted := []byte(want)
	return func(c *Conn) error {
		seen := len(c.delays)
		a, err := c.Do(r)
		if err != nil {
			return err
		}
		if a.Status != 200 || !bytes.Contains(a.Body, wanted) {
			return fmt.Errorf("status %d, body %.300q: want 200 and %q", a.Status, a.Body, want)
		}
		if got := len(c.delays) - seen; got != events {
			return fmt.Errorf("%d events with a time of sending, want %d: %.300q", got, events, a.Body)
		}
		return nil
	}
}
