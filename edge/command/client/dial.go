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

// dialer connects to the server. Until the first success it retries, as long as --wait has not
// passed since the first attempt. It is safe for concurrent use.
type dialer struct {
	// wait is --wait. 0 tries once.
	wait time.Duration

	mu sync.Mutex
	// end is when wait has passed; zero before the first attempt.
	end time.Time
	// reached is whether an attempt has succeeded.
	reached bool
	// failed is the error of the last attempt; nil if it succeeded or there was none.
	failed error
}

// dial implements http.Transport.DialContext.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	end, waits := d.until()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil || ctx.Err() == nil { // else the error is ctx's, which hides that of the attempt before
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
			return nil, fmt.Errorf("%w: still so after %v, the --wait: give a longer one if the server is starting", err, d.wait)
		}
		select {
		case <-time.After(dialAgain):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// until returns when attempts end. It returns false if only one attempt is made.
func (d *dialer) until() (end time.Time, waits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.end.IsZero() {
		d.end = time.Now().Add(d.wait)
	}
	return d.end, d.wait > 0 && !d.reached
}

// ends returns when --wait is over, which began with the first attempt.
func (d *dialer) ends() time.Time {
	end, _ := d.until()
	return end
}

// lastError is the error of the last attempt; nil if it succeeded.
func (d *dialer) lastError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}
