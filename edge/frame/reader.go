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

// Reader reads server-sent events by the WHATWG algorithm: lines end in LF, CR or CRLF; a leading
// byte order mark, comments and unknown fields are ignored; an incomplete event at the end of the
// stream is dropped. Invalid UTF-8 is returned unchanged. It is not safe for concurrent use.
type Reader struct {
	in      *bufio.Reader
	max     int
	err     error // sticky
	started bool
	afterCR bool // the last line ended in CR, so a following LF belongs to it
	line    []byte
	lastID  string
	block   block
}

// block is the event being read.
type block struct {
	size    int // size of its lines in bytes
	event   Event
	data    []byte
	hasData bool
	hasID   bool
}

// NewReader returns a reader of r. maxEvent is the maximum size of an event's lines in bytes,
// without their ends and without comments; it must be at least 1.
func NewReader(r io.Reader, maxEvent int) *Reader {
	return &Reader{in: bufio.NewReader(r), max: maxEvent}
}

// LastEventID returns the value of Last-Event-ID for a reconnection: the id of the last block that
// had one. Events without an id do not change it; an empty id clears it.
func (r *Reader) LastEventID() string { return r.lastID }

// Next returns the next event; the caller owns its Data. ID and Name are those of the event's own
// lines. In addition to the algorithm, it returns a block without data that sets the reconnection
// time, as an Event with Retry and nil Data. Data of any other event is not nil.
//
// At the end of the stream it returns io.EOF, for an event above the limit [ErrEventTooLong], and
// otherwise the error of the stream. Each error is permanent.
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

// dispatch ends the block, and returns its event if it has one.
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

// field adds the non-empty line in r.line to the block.
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
	return fmt.Errorf("%w: more than %d bytes; raise the limit or send less", ErrEventTooLong, r.max)
}

// retry parses a number of milliseconds: ASCII digits only, within the range of a Duration.
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

// readLine reads one line without its end into r.line. Of a comment it keeps the colon only. An
// incomplete line at the end of the stream is an error, because it cannot complete an event.
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

// byteOrderMark skips a leading U+FEFF. Waiting for three bytes delays nothing, because no event is
// shorter. An error is left to the next read.
func (r *Reader) byteOrderMark() {
	if b, _ := r.in.Peek(3); string(b) == "\xef\xbb\xbf" {
		r.discard(3)
	}
}

// keep adds a piece to the line, within the limit.
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

// discard drops n buffered bytes, which cannot fail.
func (r *Reader) discard(n int) { _, _ = r.in.Discard(n) }

// lineEnd returns the index of the first LF or CR, or the length if there is none.
func lineEnd(b []byte) int {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			return i
		}
	}
	return len(b)
}
