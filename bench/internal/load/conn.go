package load

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

// Conn is one HTTP/1.1 connection, for one goroutine at a time.
type Conn struct {
	c         net.Conn
	r         *bufio.Reader
	out       []byte
	body      bytes.Buffer
	session   []byte
	latencies []time.Duration
	delays    []time.Duration
}

// Answer to a request. Its bytes are valid until the connection's next one.
type Answer struct {
	Status int
	// Session is the Mcp-Session-Id; empty: none.
	Session []byte
	Body    []byte
}

// dial connects, from an address of loopback's own, if one is given. buffer is in bytes.
func dial(addr string, from net.IP, buffer int) (*Conn, error) {
	d := net.Dialer{}
	if from != nil {
		d.LocalAddr = &net.TCPAddr{IP: from}
	}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	// A reset leaves no port waiting: a run may open more connections than there are ports.
	return &Conn{c: c, r: bufio.NewReaderSize(c, buffer)}, c.(*net.TCPConn).SetLinger(0)
}

// ids numbers the requests of the process: every run of one target goes on in the same session.
var ids atomic.Int64

func (c *Conn) send(r Request) error {
	c.out = append(c.out[:0], r.head...)
	c.out = append(c.out, "Content-Length: "...)
	c.out = strconv.AppendInt(c.out, int64(len(r.body)), 10)
	c.out = append(c.out, "\r\n\r\n"...)
	start := len(c.out)
	c.out = append(c.out, r.body...)
	if r.id >= 0 {
		digits := c.out[start+r.id : start+r.id]
		strconv.AppendInt(digits, 100_000_000_000+ids.Add(1), 10)
	}
	if r.parent >= 0 {
		putParent(c.out[start+r.parent:])
	}
	_, err := c.c.Write(c.out)
	return err
}

// putParent writes a new traceparent over the placeholder that b begins with.
func putParent(b []byte) {
	var ids [24]byte
	for i := 0; i < len(ids); i += 8 {
		binary.LittleEndian.PutUint64(ids[i:], rand.Uint64())
	}
	hex.Encode(b[3:], ids[:16])
	hex.Encode(b[36:], ids[16:])
	if rand.IntN(100) == 0 {
		b[54] = '1'
	}
}

// Do sends a request and reads the whole answer, whatever its status. From an event stream it notes when
// events that carry the time they were sent at arrived (see stamp).
func (c *Conn) Do(r Request) (Answer, error) {
	if err := c.send(r); err != nil {
		return Answer{}, err
	}
	h, err := c.head()
	if err != nil {
		return Answer{}, err
	}
	c.body.Reset()
	for n := int64(-1); h.chunked && n != 0; {
		begin := c.body.Len()
		if n, err = c.chunk(); err != nil {
			return Answer{}, err
		}
		if h.events {
			c.arrived(c.body.Bytes()[begin:])
		}
	}
	if !h.chunked {
		if _, err := io.CopyN(&c.body, c.r, h.length); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Status: h.status, Session: c.session, Body: c.body.Bytes()}, nil
}

// stamp stands before the time of sending, in Unix nanoseconds, in an event.
var stamp = []byte(`"message":"`)

// arrived notes the events of a chunk.
func (c *Conn) arrived(chunk []byte) {
	now := time.Now().UnixNano()
	for {
		at := bytes.Index(chunk, stamp)
		if at < 0 {
			return
		}
		chunk = chunk[at+len(stamp):]
		c.delays = append(c.delays, time.Duration(now-number(chunk, 10)))
	}
}

// head is what is read of an answer's head.
type head struct {
	status          int
	length          int64
	chunked, events bool
}

func (c *Conn) head() (h head, err error) {
	c.session = c.session[:0]
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return h, err
	}
	if len(line) < 12 {
		return h, fmt.Errorf("status line %q", line)
	}
	h.status = int(number(line[9:12], 10))
	for {
		if line, err = c.r.ReadSlice('\n'); err != nil {
			return h, err
		}
		if len(line) <= 2 {
			return h, nil
		}
		if v, ok := cutHeader(line, "content-length:"); ok {
			h.length = number(v, 10)
		} else if v, ok := cutHeader(line, "transfer-encoding:"); ok {
			h.chunked = bytes.Equal(v, []byte("chunked"))
		} else if v, ok := cutHeader(line, "content-type:"); ok {
			h.events = bytes.HasPrefix(v, []byte("text/event-stream"))
		} else if v, ok := cutHeader(line, "mcp-session-id:"); ok {
			c.session = append(c.session, v...)
		}
	}
}

// chunk reads one into the body; the last one has the length 0.
func (c *Conn) chunk() (int64, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	n := number(bytes.TrimSpace(line), 16)
	if _, err := io.CopyN(&c.body, c.r, n); err != nil {
		return 0, err
	}
	_, err = c.r.Discard(2)
	return n, err
}

func cutHeader(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

func number(b []byte, base int64) int64 {
	n := int64(0)
	for _, d := range b {
		switch {
		case d >= '0' && d <= '9':
			n = n*base + int64(d-'0')
		case base == 16 && d >= 'a' && d <= 'f':
			n = n*base + int64(d-'a') + 10
		default:
			return n
		}
	}
	return n
}
