package conn

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// begin begins a background read.
func begin(c *Conn) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		result <- err
	}()
	return result
}

// What a background read ends with that has not begun, and when.
func TestReadThatWaits(t *testing.T) {
	for name, c := range map[string]struct {
		// do is done to the connection at once.
		do func(c *Conn, peer net.Conn)
		// from and to are when it ends.
		from, to time.Duration
		want     error
		// reads and deadlines that reach the connection.
		reads, deadlines int64
	}{
		"interrupted": {
			do:   func(c *Conn, _ net.Conn) { _ = c.SetReadDeadline(past) },
			want: os.ErrDeadlineExceeded,
		},
		"a deadline": {
			do:   func(c *Conn, _ net.Conn) { _ = c.SetReadDeadline(time.Now().Add(time.Millisecond)) },
			from: time.Millisecond, to: time.Millisecond, want: os.ErrDeadlineExceeded, reads: 1, deadlines: 1,
		},
		"a later deadline": {
			do:   func(c *Conn, _ net.Conn) { _ = c.SetReadDeadline(time.Now().Add(time.Hour)) },
			from: time.Hour, to: time.Hour, want: os.ErrDeadlineExceeded, reads: 1, deadlines: 1,
		},
		"no deadline, and closed": {
			do: func(c *Conn, _ net.Conn) {
				_ = c.SetReadDeadline(time.Time{})
				_ = c.Close()
			},
			want: io.ErrClosedPipe, reads: 1,
		},
		"the peer leaves": {
			do: func(c *Conn, peer net.Conn) {
				_ = c.SetReadDeadline(time.Time{}) // which is no reason to begin
				_ = peer.Close()
			},
			from: patience / 2, to: patience, want: io.EOF, reads: 1,
		},
		"a byte arrives": {
			do:   func(_ *Conn, peer net.Conn) { go func() { _, _ = peer.Write([]byte("x")) }() },
			from: patience / 2, to: patience, reads: 1,
		},
		"interrupted after it has begun": {
			do:   func(c *Conn, _ net.Conn) { time.AfterFunc(time.Hour, func() { _ = c.SetReadDeadline(past) }) },
			from: time.Hour, to: time.Hour, want: os.ErrDeadlineExceeded, reads: 1, deadlines: 1,
		},
		"the peer leaves after it has begun": {
			do:   func(_ *Conn, peer net.Conn) { time.AfterFunc(time.Hour, func() { _ = peer.Close() }) },
			from: time.Hour, to: time.Hour, want: io.EOF, reads: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, peer, n := pipe(t)
				for range 3 { // of which each leaves it as it was
					result, began := begin(conn), time.Now()
					synctest.Wait()
					if !conn.parked() || n.reads.Load() > 0 {
						t.Fatal("it does not wait")
					}
					c.do(conn, peer)
					err := <-result
					if took := time.Since(began); took < c.from || took > c.to {
						t.Errorf("took %v, want %v to %v", took, c.from, c.to)
					}
					if !errors.Is(err, c.want) {
						t.Errorf("error %v, want %v", err, c.want)
					}
					if reads, deadlines := n.reads.Swap(0), n.deadlines.Swap(0); reads != c.reads || deadlines > c.deadlines {
						t.Errorf("%d reads and %d deadlines reached the connection, want %d and %d", reads, deadlines, c.reads, c.deadlines)
					}
					if conn.parked() || conn.waiting {
						t.Error("it waits still")
					}
					if c.want != os.ErrDeadlineExceeded || c.reads > 0 {
						return
					}
					_ = conn.SetReadDeadline(time.Time{})
				}
			})
		})
	}
}

// Any other read, one with a deadline, and one on a closed connection begin at once.
func TestReadThatDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer, n := pipe(t)
		go func() { _, _ = peer.Write([]byte("abcde")) }()
		began := time.Now()
		if got, err := io.ReadFull(c, make([]byte, 2)); got != 2 || err != nil {
			t.Error(got, err)
		}
		if got, err := c.Read(make([]byte, 1, 2)); got != 1 || err != nil {
			t.Error(got, err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Hour))
		if got, err := c.Read(make([]byte, 1)); got != 1 || err != nil {
			t.Error(got, err)
		}
		_ = c.SetReadDeadline(past)
		before := n.reads.Load()
		if got, err := c.Read(make([]byte, 1)); got != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || n.reads.Load() > before {
			t.Error(got, err, n.reads.Load()-before, "reads")
		}
		_ = c.SetReadDeadline(time.Time{})
		_ = c.Close()
		if got, err := c.Read(make([]byte, 1)); got != 0 || !errors.Is(err, io.ErrClosedPipe) {
			t.Error(got, err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("took %v", took)
		}
	})
}

// A second read at the same time does not wait, and both get what they came for.
func TestReadBesideOneThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer, _ := pipe(t)
		first := begin(c)
		synctest.Wait()
		second := begin(c)
		if _, err := peer.Write([]byte("xy")); err != nil {
			t.Error(err)
		}
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
	})
}

// Waiters that enter and are woken in any order are each woken once, in time. The goroutine that looks after them
// ends after the last one, or the bubble would not, and begins anew.
func TestWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w waiters
		all := make([]waiter, 200)
		for range 3 {
			waited, called := make([]time.Duration, len(all)), make([]bool, len(all))
			var ended sync.WaitGroup
			for i := range all {
				w.enter(&all[i])
				began := time.Now()
				ended.Go(func() {
					all[i].woken.Wait()
					waited[i] = time.Since(began)
				})
				time.Sleep(time.Millisecond)
				if i%3 == 0 {
					called[i/2] = true // it may have been woken long ago
					w.wake(&all[i/2])
				}
			}
			ended.Wait()
			for i := range all {
				if waited[i] > patience || waited[i] < patience/2 && !called[i] {
					t.Errorf("%d waited for %v", i, waited[i])
				}
			}
			time.Sleep(patience)
			synctest.Wait()
			if len(w.list) != 0 || w.ticking {
				t.Errorf("%d wait, ticking %t", len(w.list), w.ticking)
			}
			for _, one := range w.list[:cap(w.list)] {
				if one != nil {
					t.Error("a waiter is kept")
				}
			}
		}
	})
}

func TestCloseWrite(t *testing.T) {
	c, peer, _ := tcp(t)
	if _, err := c.Write([]byte("last")); err != nil {
		t.Error(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(peer); string(got) != "last" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := peer.Write([]byte("still")); err != nil {
		t.Error(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); string(got) != "still" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	if err := newConn(a, nil).CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// A background read takes no memory.
func TestReadThatWaitsAllocatesNothing(t *testing.T) {
	c, _, n := tcp(t)
	begin, ended := make(chan struct{}), make(chan error)
	defer close(begin)
	go func() {
		b := make([]byte, 1)
		for range begin {
			_, err := c.Read(b)
			ended <- err
		}
	}()
	if allocs := testing.AllocsPerRun(100, func() {
		begin <- struct{}{}
		for !c.parked() && n.reads.Load() == 0 {
			runtime.Gosched()
		}
		_ = c.SetReadDeadline(past)
		<-ended
		_ = c.SetReadDeadline(time.Time{})
	}); allocs >= 1 {
		t.Errorf("%v allocations", allocs)
	}
}
