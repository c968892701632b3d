package conn

import (
	"errors"
	"os"
	"sync"
	"time"
)

// deadline is that of one direction of a connection, which is told of it, by the function arm of each method, only
// when an operation runs that it would interrupt too late. One that interrupts too early costs less than to keep it
// exact: the operation goes on.
type deadline struct {
	sync.Mutex
	// want was set last; zero: none.
	want time.Time
	// armed is what the connection has; zero: none. While operations run it is not after want.
	armed time.Time
	// running operations.
	running int32
}

// set sets the deadline, in the past for what runs to end. The lock is held.
func (d *deadline) set(t time.Time, arm func(time.Time) error) error {
	d.want = t
	if d.running == 0 {
		return nil
	}
	return d.tighten(arm)
}

// begin begins an operation, unless there is an error.
func (d *deadline) begin(arm func(time.Time) error) error {
	d.Lock()
	defer d.Unlock()
	if err := d.tighten(arm); err != nil {
		return err
	}
	d.running++
	return nil
}

func (d *deadline) end() {
	d.Lock()
	defer d.Unlock()
	d.running--
}

// passed returns err, with which a running operation was interrupted; nil: it was too early, go on.
func (d *deadline) passed(err error, arm func(time.Time) error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) { // and not any timeout: one of TCP's keep-alive ends the connection
		return err
	}
	d.Lock()
	defer d.Unlock()
	if d.over() {
		return err
	}
	return d.move(arm)
}

// over reports whether the deadline has passed. The lock is held.
func (d *deadline) over() bool { return !d.want.IsZero() && !time.Now().Before(d.want) }

// tighten arms the connection if nothing would interrupt it in time. The lock is held.
func (d *deadline) tighten(arm func(time.Time) error) error {
	if d.want.IsZero() || !d.armed.IsZero() && !d.want.Before(d.armed) {
		return nil
	}
	return d.move(arm)
}

// move arms the connection with what is wanted. The lock is held.
func (d *deadline) move(arm func(time.Time) error) error {
	err := arm(d.want)
	if err == nil {
		d.armed = d.want
	}
	return err
}
