package client

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// dialAgain is the pause between attempts to connect.
const dialAgain = 200 * time.Millisecond

// dialer connects to the server. Until the first success it retries, for --wait after the first
// attempt. It is safe for concurrent use.
type dialer struct {
	// wait is the value of --wait. 0 makes one attempt.
	wait time.Duration

	mu sync.Mutex
	// end is the time of the last attempt. It is zero before the first one.
	end time.Time
	// reached is true if an attempt has succeeded.
	reached bool
	// failed is the error of the last attempt. nil means that it succeeded, or that there was none.
	failed error
}

// dial implements http.Transport.DialContext.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	end, waits := d.attemptsEnd()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil || ctx.Err() == nil { // otherwise err is that of ctx, which would hide the error of the previous attempt
			d.mu.Lock()
			d.failed, d.reached = err, d.reached || err == nil
			d.mu.Unlock()
		}
		switch {
		case err == nil:
			return conn, nil
		case !waits:
			return nil, err
		case time.Now().Add(dialAgain).Before(end):
		default:
			return nil, fmt.Errorf("%w: still the case after --wait=%v: give a longer one if the server is starting", err, d.wait)
		}
		select {
		case <-time.After(dialAgain):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// attemptsEnd returns the time at which attempts end. waits is false if only one attempt is made.
func (d *dialer) attemptsEnd() (end time.Time, waits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.end.IsZero() {
		d.end = time.Now().Add(d.wait)
	}
	return d.end, d.wait > 0 && !d.reached
}

// waitEnd returns the end of --wait, which begins with the first attempt.
func (d *dialer) waitEnd() time.Time {
	end, _ := d.attemptsEnd()
	return end
}

// lastError returns the error of the last attempt. nil means that it succeeded.
func (d *dialer) lastError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}
