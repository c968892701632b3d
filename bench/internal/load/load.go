// Package load is a lean HTTP/1.1 load generator: it shares the machine with what it measures, so it
// spends as little as it can. Each connection sends one prepared request after the other.
package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// IDPlaceholder in a body becomes a new id with every request: a number of as many digits, since no
// id may be used twice in a session.
const IDPlaceholder = "999000999000"

// Target is one server with the request to send it.
type Target struct {
	Addr string
	Path string
	// Header of every request, beside Host and Content-Length.
	Header http.Header
	Body   []byte
	// Want must occur in every answer's body.
	Want []byte
	// Events is how many events of each answer carry the time they were sent at (see stamp); 0: none.
	Events int
}

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

// Run keeps n connections busy for d. An answer that is not 200, or lacks Want, is an error.
func Run(t Target, n int, d time.Duration) (Result, error) {
	request := t.bytes()
	id := bytes.Index(request, []byte(IDPlaceholder))
	conns := make([]*conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", t.Addr)
		if err != nil {
			return Result{}, err
		}
		defer c.Close()
		conns[i] = &conn{c: c, r: bufio.NewReaderSize(c, 16<<10), want: t.Want, events: t.Events}
		conns[i].request = bytes.Clone(request)
		if id >= 0 {
			conns[i].id = conns[i].request[id : id+len(IDPlaceholder)]
		}
	}
	var wg sync.WaitGroup
	errs := make(chan error, n)
	start := time.Now()
	for _, c := range conns {
		wg.Go(func() {
			for {
				sent := time.Now()
				if sent.Sub(start) >= d {
					return
				}
				c.renumber(ids.Add(1))
				if err := c.call(c.request); err != nil {
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

func (t Target) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", t.Path, t.Addr, len(t.Body))
	_ = t.Header.Write(&b)
	b.WriteString("\r\n")
	b.Write(t.Body)
	return b.Bytes()
}

// ids numbers the requests of the process: every run of one target goes on in the same session.
var ids atomic.Int64

// renumber gives the request its id.
func (c *conn) renumber(n int64) {
	if c.id != nil {
		strconv.AppendInt(c.id[:0], 100_000_000_000+n, 10)
	}
}

type conn struct {
	c         net.Conn
	r         *bufio.Reader
	request   []byte
	id        []byte // the digits of the id, within request; nil: none
	want      []byte
	body      bytes.Buffer
	latencies []time.Duration
	events    int
	delays    []time.Duration
}

// stamp stands before the time of sending, in Unix nanoseconds, in an event.
var stamp = []byte(`"message":"`)

// arrived notes the events of a chunk that begins at a place of the body.
func (c *conn) arrived(chunk []byte) {
	now := time.Now().UnixNano()
	for {
		at := bytes.Index(chunk, stamp)
		if at < 0 {
			return
		}
		chunk = chunk[at+len(stamp):]
		c.delays = append(c.delays, time.Duration(now-int64(number(chunk, 10))))
	}
}

func (c *conn) call(request []byte) error {
	if _, err := c.c.Write(request); err != nil {
		return err
	}
	length, chunked, status, err := c.head()
	if err != nil {
		return err
	}
	c.body.Reset()
	seen := len(c.delays)
	if chunked {
		err = c.chunks()
	} else {
		_, err = io.CopyN(&c.body, c.r, int64(length))
	}
	if err != nil {
		return err
	}
	if status != 200 || !bytes.Contains(c.body.Bytes(), c.want) {
		return fmt.Errorf("status %d, body %.300q: want 200 and %q", status, c.body.Bytes(), c.want)
	}
	if got := len(c.delays) - seen; got != c.events {
		return fmt.Errorf("%d events with a time of sending, want %d: %.300q", got, c.events, c.body.Bytes())
	}
	return nil
}

// head reads the status line and the headers.
func (c *conn) head() (length int, chunked bool, status int, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, false, 0, err
	}
	if len(line) < 12 {
		return 0, false, 0, fmt.Errorf("status line %q", line)
	}
	status = number(line[9:12], 10)
	for {
		if line, err = c.r.ReadSlice('\n'); err != nil {
			return 0, false, 0, err
		}
		if len(line) <= 2 {
			return length, chunked, status, nil
		}
		if v, ok := cutHeader(line, "content-length:"); ok {
			length = number(v, 10)
		} else if v, ok := cutHeader(line, "transfer-encoding:"); ok {
			chunked = bytes.Equal(v, []byte("chunked"))
		}
	}
}

func (c *conn) chunks() error {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		n := number(bytes.TrimSpace(line), 16)
		begin := c.body.Len()
		if _, err := io.CopyN(&c.body, c.r, int64(n)); err != nil {
			return err
		}
		if c.events > 0 {
			c.arrived(c.body.Bytes()[begin:])
		}
		if _, err := c.r.Discard(2); err != nil || n == 0 {
			return err
		}
	}
}

func cutHeader(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

func number(b []byte, base int) int {
	n := 0
	for _, d := range b {
		switch {
		case d >= '0' && d <= '9':
			n = n*base + int(d-'0')
		case base == 16 && d >= 'a' && d <= 'f':
			n = n*base + int(d-'a') + 10
		default:
			return n
		}
	}
	return n
}
