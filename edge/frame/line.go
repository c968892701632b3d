package frame

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// LineReader reads messages that stand one on a line. Lines end in LF or CRLF; the last one needs no
// end. Lines of nothing but space are skipped. It is for one goroutine.
type LineReader struct {
	in       *bufio.Reader
	max      int
	skipping bool // within a line that was too long
}

// NewLineReader reads lines from r. maxLine bounds one line in bytes, without its end; it must be at
// least 1.
func NewLineReader(r io.Reader, maxLine int) *LineReader {
	return &LineReader{in: bufio.NewReader(r), max: maxLine}
}

// Next returns the next line without its end; the caller owns it. A line beyond the bound gives
// [ErrLineTooLong] as soon as the bound is crossed; the call after goes on with the next line. At
// the end of the stream the error is io.EOF. Any other error is the stream's own, and what was read
// of a line before it is dropped.
func (r *LineReader) Next() ([]byte, error) {
	if r.skipping {
		if err := r.skip(); err != nil {
			return nil, err
		}
	}
	for {
		line, err := r.read()
		if err != nil {
			return nil, err
		}
		if len(bytes.Trim(line, " \t\r")) > 0 {
			return line, nil
		}
	}
}

// read returns one line, which may be empty, or io.EOF if there is none.
func (r *LineReader) read() ([]byte, error) {
	var line []byte
	for {
		piece, err := r.in.ReadSlice('\n')
		whole := err == nil
		if whole {
			piece = piece[:len(piece)-1]
		}
		line = append(line, piece...)
		ended := whole || errors.Is(err, io.EOF)
		if excess := len(line) - r.max; excess > 0 {
			// One byte more may be the CR of a CRLF.
			cr := excess == 1 && line[r.max] == '\r'
			if !cr || ended && !whole {
				r.skipping = !whole
				return nil, fmt.Errorf("%w: more than %d bytes; send a shorter message", ErrLineTooLong, r.max)
			}
		}
		switch {
		case whole:
			return bytes.TrimSuffix(line, []byte("\r")), nil
		case ended && len(line) > 0:
			return line, nil
		case ended:
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("frame: read line: %w", err)
		}
	}
}

// skip passes the rest of a line that was too long.
func (r *LineReader) skip() error {
	for {
		_, err := r.in.ReadSlice('\n')
		switch {
		case err == nil:
			r.skipping = false
			return nil
		case errors.Is(err, io.EOF):
			return io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("frame: read line: %w", err)
		}
	}
}

// LineWriter writes messages one on a line. It may be used concurrently.
type LineWriter struct {
	mu  sync.Mutex
	out io.Writer
	buf []byte
	err error // of a write; a line may be half written, so it stays
}

// NewLineWriter writes lines to w.
func NewLineWriter(w io.Writer) *LineWriter { return &LineWriter{out: w} }

// keepBuffer is the most memory that a LineWriter holds between messages, in bytes.
const keepBuffer = 64 << 10

// WriteLine writes msg and a line feed in one call of the underlying Write; msg stays the caller's.
// A message that is empty or spans lines is refused with [ErrEmptyLine] or [ErrRawNewline], and
// nothing is written. Once a write has failed, its error is returned ever after.
func (w *LineWriter) WriteLine(msg []byte) error {
	if len(msg) == 0 {
		return ErrEmptyLine
	}
	if bytes.IndexByte(msg, '\n') >= 0 || bytes.IndexByte(msg, '\r') >= 0 {
		return ErrRawNewline
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.buf = append(append(w.buf[:0], msg...), '\n')
	n, err := w.out.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("frame: write line: %w", err)
	}
	if cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	return w.err
}
