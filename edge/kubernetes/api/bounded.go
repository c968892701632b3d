package api

import (
	"errors"
	"fmt"
	"io"
)

// bounded is a reader that fails after a bound of bytes.
type bounded struct {
	from  io.Reader
	what  string // names the bounded part in errors
	bound int
	left  int
	ended error // the error of the underlying reader
}

// next resets the bound for the next part.
func (b *bounded) next() { b.left = b.bound }

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, fmt.Errorf("%s is larger than %d MiB", b.what, b.bound>>20)
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	if err != nil {
		b.ended = err
	}
	return n, err
}

// isEnd reports whether a decoder's error is the end of the input, and not invalid input.
func (b *bounded) isEnd(err error) bool {
	return b.ended != nil && (errors.Is(err, b.ended) || errors.Is(err, io.ErrUnexpectedEOF))
}
