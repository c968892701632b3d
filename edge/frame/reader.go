package frame

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Reader reads server-sent events as the WHATWG algorithm interprets an event stream: lines end in
// LF, CR or CRLF, a byte order mark may lead, comments and unknown fields are ignored, an event that
// the end of the stream cuts off is dropped. Bytes that are not UTF-8 are handed on as they are. It
// is for one goroutine.
type Reader struct {
	in      *bufio.Reader
	max     int
	err     error // sticky
	started bool
	afterCR bool // a line ended in CR; a LF that follows belongs to it
	line    []byte
	lastID  string
	block   block
}

// block is the event being read.
type block struct {
	size    int // bytes of its lines
	event   Event
	data    []byte
	hasData bool
	hasID   bool
}

// NewReader reads events from r. maxEvent bounds the bytes of one event's lines, without their ends
// and without comments; it must be at least 1.
func NewReader(r io.Reader, maxEvent int) *Reader {
	return &Reader{in: bufio.NewReader(r), max: maxEvent}
}

// LastEventID is what a client sends as Last-Event-ID when it reconnects: the id of the last block
// that had one. Unlike Event.ID it stays over events without an id, and an empty id clears it.
func (r *Reader) LastEventID() string { return r.lastID }

// Next returns the next event; the caller owns its Data. ID and Name are those of the event's own
// lines. Beyond the algorithm, a block without data that sets the reconnection time is returned
// too, as an Event with Retry and nil Data; Data of an event proper is never nil.
//
// At the end of the stream the error is io.EOF; a longer event than allowed gives [ErrEventTooLong],
// a failing stream its own error. Each stays.
func (r *Reader) Next() (Event, error) {
	for r.err == nil {
		if r.err = r.readLine(); r.err != nil {
			break
		}
		if len(r.line) > 0 {
			r.err = r.field()
			continue
		}
		if ev, ok := r.dispatch(); ok {
			return ev, nil
		}
	}
	return Event{}, r.err
}

// dispatch ends the block, and returns its event if it makes one.
func (r *Reader) dispatch() (Event, bool) {
	b := r.block
	r.block = block{data: b.data[:0]}
	if b.hasID {
		r.lastID = b.event.ID
	}
	if b.hasData {
		b.event.Data = make([]byte, len(b.data)-1) // without the LF after its last line
		copy(b.event.Data, b.data)
		return b.event, true
	}
	if b.event.Retry > 0 {
		return Event{ID: b.event.ID, Retry: b.event.Retry}, true
	}
	return Event{}, false
}

// field takes the line in r.line, which is not empty, into the block.
func (r *Reader) field() error {
	name, value, _ := bytes.Cut(r.line, []byte(":"))
	if len(name) == 0 {
		return nil // a comment
	}
	if r.block.size += len(r.line); r.block.size > r.max {
		return r.tooLong()
	}
	value = bytes.TrimPrefix(value, []byte(" "))
	b := &r.block
	switch string(name) {
	case "data":
		b.data = append(append(b.data, value...), '\n')
		b.hasData = true
	case "event":
		b.event.Name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			b.event.ID, b.hasID = string(value), true
		}
	case "retry":
		if d, ok := retry(string(value)); ok {
			b.event.Retry = d
		}
	}
	return nil
}

func (r *Reader) tooLong() error {
	return fmt.Errorf("%w: more than %d bytes; raise the bound or send less", ErrEventTooLong, r.max)
}

// retry reads a number of milliseconds: ASCII digits only, within what a Duration holds.
func retry(value string) (time.Duration, bool) {
	if strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil || ms > int64(1<<63-1)/int64(time.Millisecond) {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// readLine reads one whole line, without its end, into r.line. Of a comment it keeps the colon. A
// line that the stream's end cuts off is an error: it can complete no event.
func (r *Reader) readLine() error {
	r.line = r.line[:0]
	if !r.started {
		r.started = true
		r.byteOrderMark()
	}
	for {
		chunk, err := r.buffered()
		if err != nil {
			return err
		}
		if r.afterCR {
			r.afterCR = false
			if chunk[0] == '\n' {
				r.discard(1)
				continue
			}
		}
		end := lineEnd(chunk)
		if err := r.keep(chunk[:end]); err != nil {
			return err
		}
		if end == len(chunk) {
			r.discard(end)
			continue
		}
		r.afterCR = chunk[end] == '\r'
		r.discard(end + 1)
		return nil
	}
}

// byteOrderMark drops a leading U+FEFF. To wait for three bytes delays nothing, since no event is
// shorter; an error is left for the read that follows.
func (r *Reader) byteOrderMark() {
	if b, _ := r.in.Peek(3); string(b) == "\xef\xbb\xbf" {
		r.discard(3)
	}
}

// keep adds a piece to the line, within the bound.
func (r *Reader) keep(piece []byte) error {
	if len(r.line) > 0 && r.line[0] == ':' {
		return nil
	}
	if len(r.line) == 0 && len(piece) > 0 && piece[0] == ':' {
		piece = piece[:1]
	}
	if len(r.line)+len(piece) > r.max {
		return r.tooLong()
	}
	r.line = append(r.line, piece...)
	return nil
}

// buffered waits for at least one byte and returns what there is.
func (r *Reader) buffered() ([]byte, error) {
	if _, err := r.in.Peek(1); err != nil {
		if !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("frame: read events: %w", err)
		}
		return nil, io.EOF
	}
	return r.in.Peek(r.in.Buffered())
}

// discard drops n bytes that are buffered, which cannot fail.
func (r *Reader) discard(n int) { _, _ = r.in.Discard(n) }

// lineEnd is the index of the first LF or CR; the length if there is none.
func lineEnd(b []byte) int {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			return i
		}
	}
	return len(b)
}
