package frame

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// LineReader reads messages, one per line. Lines end in LF or CRLF; the last line needs no end.
// Blank lines are skipped. It is not safe for concurrent use.
type LineReader struct {
	in       *bufio.Reader
	max      int
	skipping bool // inside a line that was too long
}

// NewLineReader returns a reader of r. maxLine is the maximum length of a line in bytes without its
// end; it must be at least 1.
func NewLineReader(r io.Reader, maxLine int) *LineReader {
	return &LineReader{in: bufio.NewReader(r), max: maxLine}
}

// Next returns the next line without its end; the caller owns it. For a line above the limit it
// returns [ErrLineTooLong] as soon as the limit is exceeded; the next call continues with the next
// line. At the end of the stream it returns io.EOF. Any other error is that of the stream; an
// incomplete line before it is dropped.
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
			// The extra byte may be the CR of a CRLF.
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

// skip skips the rest of a line that was too long.
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

// LineWriter writes messages, one per line. It is safe for concurrent use.
type LineWriter struct {
	mu  sync.Mutex
	out io.Writer
	buf []byte
	err error // the first write error; permanent, because a line may be incomplete
}

// NewLineWriter returns a writer to w.
func NewLineWriter(w io.Writer) *LineWriter { return &LineWriter{out: w} }

// keepBuffer is the maximum size of the buffer that a LineWriter keeps between messages, in bytes.
const keepBuffer = 64 << 10

// WriteLine writes msg and a line feed in one call of the underlying Write. It does not keep msg.
// It refuses an empty message with [ErrEmptyLine] and one with line breaks with [ErrRawNewline],
// and then writes nothing. After a failed write, it always returns that error.
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
