package conn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// side is a direction of a connection, with an operation on 4 bytes.
type side struct {
	name string
	set  func(*Conn, time.Time) error
	run  func(*Conn) (int, error)
	// peer does what the operation waits for.
	peer func(net.Conn) error
}

var sides = []side{
	{
		"read", (*Conn).SetReadDeadline,
		func(c *Conn) (int, error) { return c.Read(make([]byte, 4)) },
		func(c net.Conn) error { _, err := c.Write([]byte("read")); return err },
	},
	{
		"write", (*Conn).SetWriteDeadline,
		func(c *Conn) (int, error) { return c.Write([]byte("done")) },
		func(c net.Conn) error { _, err := io.ReadFull(c, make([]byte, 4)); return err },
	},
	{
		"both", (*Conn).SetDeadline,
		func(c *Conn) (int, error) { return c.Read(make([]byte, 4)) },
		func(c net.Conn) error { _, err := c.Write([]byte("read")); return err },
	},
	{
		"both, written", (*Conn).SetDeadline,
		func(c *Conn) (int, error) { return c.Write([]byte("done")) },
		func(c net.Conn) error { _, err := io.ReadFull(c, make([]byte, 4)); return err },
	},
}

// never is no deadline.
const never = -1

// at is a deadline d from now; in the past for 0.
func at(d time.Duration) time.Time {
	switch d {
	case never:
		return time.Time{}
	case 0:
		return past
	}
	return time.Now().Add(d)
}

// Deadlines are as exact as the connection's, whatever was set before or is set while an operation runs.
func TestDeadlines(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		// before the operation these are set, in this order, while it runs those, at once.
		before, during []time.Duration
		// peer acts after so long; never: not at all.
		peer time.Duration
		// want is when the operation ends, by itself or by its deadline.
		want   time.Duration
		passes bool
		// real are how many deadlines the connection is told of at most, for each direction.
		real int64
	}{
		"passes":                         {before: []time.Duration{50 * ms}, peer: never, want: 50 * ms, passes: true, real: 1},
		"has passed":                     {before: []time.Duration{0}, peer: never, want: 0, passes: true, real: 1},
		"does not pass":                  {before: []time.Duration{50 * ms}, peer: 49 * ms, want: 49 * ms, real: 1},
		"the last one counts":            {before: []time.Duration{10 * ms, 90 * ms, 50 * ms}, peer: never, want: 50 * ms, passes: true, real: 1},
		"none after one":                 {before: []time.Duration{10 * ms, never}, peer: time.Hour, want: time.Hour},
		"none after one in the past":     {before: []time.Duration{0, never}, peer: time.Hour, want: time.Hour},
		"set meanwhile":                  {during: []time.Duration{50 * ms}, peer: never, want: 50 * ms, passes: true, real: 1},
		"interrupts":                     {during: []time.Duration{0}, peer: never, want: 0, passes: true, real: 1},
		"interrupts long before another": {before: []time.Duration{time.Hour}, during: []time.Duration{0}, peer: never, want: 0, passes: true, real: 2},
		"moved out":                      {before: []time.Duration{50 * ms}, during: []time.Duration{80 * ms}, peer: never, want: 80 * ms, passes: true, real: 2},
		"moved out often":                {before: []time.Duration{50 * ms}, during: []time.Duration{60 * ms, 70 * ms, 80 * ms}, peer: never, want: 80 * ms, passes: true, real: 2},
		"moved out, and not reached":     {before: []time.Duration{50 * ms}, during: []time.Duration{80 * ms}, peer: 60 * ms, want: 60 * ms, real: 2},
		"moved in":                       {before: []time.Duration{time.Hour}, during: []time.Duration{50 * ms}, peer: never, want: 50 * ms, passes: true, real: 2},
		"taken away":                     {before: []time.Duration{50 * ms}, during: []time.Duration{never}, peer: time.Hour, want: time.Hour, real: 2},
		"set again":                      {before: []time.Duration{50 * ms}, during: []time.Duration{never, 80 * ms}, peer: never, want: 80 * ms, passes: true, real: 2},
	} {
		for _, s := range sides {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					conn, peer, n := pipe(t)
					set := func(all []time.Duration) {
						for _, d := range all {
							if err := s.set(conn, at(d)); err != nil {
								t.Error(err)
							}
						}
					}
					began := time.Now()
					set(c.before)
					if c.peer != never {
						time.AfterFunc(c.peer, func() {
							if err := s.peer(peer); err != nil {
								t.Error(err)
							}
						})
					}
					result := make(chan error)
					go func() {
						_, err := s.run(conn)
						result <- err
					}()
					synctest.Wait()
					set(c.during)
					err := <-result
					if took := time.Since(began); took != c.want {
						t.Errorf("took %v, want %v", took, c.want)
					}
					if c.passes != errors.Is(err, os.ErrDeadlineExceeded) || !c.passes && err != nil {
						t.Errorf("error %v", err)
					}
					if late := net.Error(nil); c.passes && (!errors.As(err, &late) || !late.Timeout()) {
						t.Errorf("not a timeout: %#v", err)
					}
					set([]time.Duration{0, time.Nanosecond, never}) // for no operation
					if got := n.deadlines.Load(); got > c.real {
						t.Errorf("the connection was told of %d deadlines, want %d", got, c.real)
					}
				})
			})
		}
	}
}

// A deadline that the connection has from an operation before interrupts the next ones in vain.
func TestDeadlinesOfOperationsBefore(t *testing.T) {
	for _, s := range sides {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, peer, n := pipe(t)
				steps := []struct{ deadline, peer time.Duration }{
					{time.Minute, time.Second}, {time.Hour, 2 * time.Minute}, {never, 2 * time.Hour}, {time.Minute, time.Second},
					{never, 0}, {time.Second, 0}, {never, 2 * time.Minute},
				}
				for i, step := range steps {
					_ = s.set(c, at(step.deadline))
					done := make(chan error, 1)
					time.AfterFunc(step.peer, func() { done <- s.peer(peer) })
					if got, err := s.run(c); got != 4 || err != nil {
						t.Errorf("%d: %d bytes, %v", i, got, err)
					}
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if got := n.deadlines.Load(); got != 6 {
					t.Errorf("the connection was told of %d deadlines, want those of 1, 2, 3, 4, 6 and 7", got)
				}
			})
		})
	}
}

// What was written before the deadline is told, and what was written before an interruption in vain is not
// written twice.
func TestWriteInParts(t *testing.T) {
	for name, moved := range map[string]bool{"ends": false, "goes on": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, peer, _ := pipe(t)
				_ = c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
				type result struct {
					n   int
					err error
				}
				written := make(chan result)
				go func() {
					n, err := c.Write([]byte("0123456789"))
					written <- result{n, err}
				}()
				got := make([]byte, 10)
				if _, err := io.ReadFull(peer, got[:4]); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if moved {
					_ = c.SetWriteDeadline(time.Now().Add(time.Second))
					time.Sleep(100 * time.Millisecond)
					if _, err := io.ReadFull(peer, got[4:]); err != nil {
						t.Fatal(err)
					}
				}
				r := <-written
				if moved && (r.n != 10 || r.err != nil || string(got) != "0123456789") {
					t.Errorf("%d bytes, %v: %q", r.n, r.err, got)
				}
				if !moved && (r.n != 4 || !errors.Is(r.err, os.ErrDeadlineExceeded)) {
					t.Errorf("%d bytes, %v, want 4 and a timeout", r.n, r.err)
				}
			})
		})
	}
}

// The same where a peer that does not read leaves the kernel with full buffers.
func TestWriteToAPeerThatDoesNotRead(t *testing.T) {
	c, peer, n := tcp(t)
	want := make([]byte, 16<<20)
	for i := range want {
		want[i] = byte(i >> 12)
	}
	done := make(chan error, 1)
	go func() {
		written, err := c.Write(want)
		if err == nil && written != len(want) {
			err = io.ErrShortWrite
		}
		done <- errors.Join(err, c.Close())
	}()
	for i := range int64(3) {
		await(t, "the write", func() bool { return n.writes.Load() > i })
		_ = c.Conn.SetWriteDeadline(past) // one that was armed before
	}
	got, err := io.ReadAll(peer)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := within(t, "the write", done); err != nil {
		t.Error(err)
	}
	if _, err := c.Write(want); !errors.Is(err, net.ErrClosed) {
		t.Errorf("when closed: %v", err)
	}
}

// What a write to such a peer ends with.
func TestWriteEndsInTime(t *testing.T) {
	c, peer, n := tcp(t)
	_ = c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	written, err := c.Write(make([]byte, 16<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n.deadlines.Load() != 1 {
		t.Errorf("%v, %d deadlines", err, n.deadlines.Load())
	}
	_ = c.Close()
	if got, err := io.Copy(io.Discard, peer); got != int64(written) || err != nil {
		t.Errorf("%d bytes arrived, %v, and %d were written", got, err, written)
	}
}

// stub fails and answers as it is told.
type stub struct {
	net.Conn
	read, write func(p []byte) (int, error)
	set         error
}

func (s stub) Read(p []byte) (int, error)        { return s.read(p) }
func (s stub) Write(p []byte) (int, error)       { return s.write(p) }
func (s stub) SetReadDeadline(t time.Time) error { return s.set }

func (stub) SetWriteDeadline(time.Time) error { return nil }

// Two writes do not mix, though one of them is made in two.
func TestWritesStayWhole(t *testing.T) {
	first, mixed := true, make(chan struct{})
	var c *Conn
	var second sync.WaitGroup
	c = newConn(stub{write: func(p []byte) (int, error) {
		if !first {
			if p[0] == 'b' {
				close(mixed)
			}
			return len(p), nil
		}
		first = false
		second.Go(func() { _, _ = c.Write([]byte("bb")) })
		select {
		case <-mixed:
			t.Error("another write came between")
		case <-time.After(20 * time.Millisecond): // within which it would
		}
		return 1, os.ErrDeadlineExceeded
	}}, nil)
	if n, err := c.Write([]byte("aa")); n != 2 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	second.Wait()
}

func TestReadOfAStrangeConnection(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		err, set error // of Read and SetReadDeadline
		n        int
		want     error
	}{
		"bytes with an error":                  {n: 2, err: io.EOF, want: io.EOF},
		"bytes with an interruption":           {n: 2, err: os.ErrDeadlineExceeded},
		"a timeout that is not the deadline's": {err: syscall.ETIMEDOUT, want: syscall.ETIMEDOUT},
		"a deadline that is refused":           {err: os.ErrDeadlineExceeded, set: refused, want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			once := c.err
			conn := newConn(stub{set: c.set, read: func([]byte) (int, error) {
				err := once
				once = io.ErrNoProgress
				return c.n, err
			}}, nil)
			if n, err := conn.Read(make([]byte, 4)); n != c.n || !errors.Is(err, c.want) {
				t.Errorf("%d bytes, %v, want %d, %v", n, err, c.n, c.want)
			}
		})
	}
	c := newConn(stub{set: refused}, nil)
	_ = c.SetReadDeadline(time.Now().Add(time.Hour))
	if n, err := c.Read(make([]byte, 4)); n != 0 || !errors.Is(err, refused) {
		t.Errorf("%d bytes, %v, want %v", n, err, refused)
	}
}

// Deadlines are set by whoever likes to while both directions are busy; nothing is lost, and the last one holds.
func TestDeadlinesSetAtTheSameTime(t *testing.T) {
	c, peer, _ := tcp(t)
	go func() { _, _ = io.Copy(peer, peer) }() // an echo
	want := bytes.Repeat([]byte("0123456789abcdef"), 16<<10)
	stop := make(chan struct{})
	var setters, ends sync.WaitGroup
	for _, set := range []func(time.Time) error{c.SetDeadline, c.SetReadDeadline, c.SetWriteDeadline} {
		setters.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				_ = set([]time.Time{past, {}, time.Now().Add(time.Millisecond), time.Now().Add(time.Hour)}[i%4])
			}
		})
	}
	// again is an operation that goes on after a deadline.
	again := func(what string, do func([]byte) (int, error), p []byte) {
		for len(p) > 0 {
			n, err := do(p[:min(len(p), 1<<10)])
			p = p[n:]
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v", what, err)
				return
			}
		}
	}
	got := make([]byte, len(want))
	ends.Go(func() { again("write", c.Write, want) })
	ends.Go(func() { again("read", c.Read, got) })
	ends.Wait()
	close(stop)
	setters.Wait()
	if !bytes.Equal(got, want) {
		t.Error("what came back is not what was sent")
	}
	_ = c.SetDeadline(time.Time{})
	read := make(chan error, 1)
	go func() {
		_, err := c.Read(got)
		read <- err
	}()
	await(t, "a read", func() bool {
		c.read.Lock()
		defer c.read.Unlock()
		return c.read.running == 1
	})
	_ = c.SetDeadline(past)
	if err := within(t, "the read", read); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}
