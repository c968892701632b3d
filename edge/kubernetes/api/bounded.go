package api

import (
	"errors"
	"fmt"
	"io"
)

// bounded reads what has a bound, and fails beyond it.
type bounded struct {
	from  io.Reader
	what  string // what has the bound, for the error
	bound int
	left  int
	ended error // the error of from
}

// next begins the next thing that has the bound.
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

// isEnd reports whether the error of a decoder says that there is no more to read, rather than that what was read is wrong.
func (b *bounded) isEnd(err error) bool {
	return b.ended != nil && (errors.Is(err, b.ended) || errors.Is(err, io.ErrUnexpectedEOF))
}
