package runtime

// roundStack is the stack that a round of a call needs, in bytes. Its deepest parts are the check
// of the arguments against their schema and the call to the backend.
const roundStack = 10 << 10

// growStack grows the goroutine's stack to what a round needs before it has frames to copy. A new
// goroutine's stack is small: otherwise it grows twice within each round, which takes a tenth of
// the edge's cost of a plain call in a session (docs/performance.md). zero must be 0; the compiler
// must not know that, or it removes the frame.
//
//go:noinline
func growStack(zero int) byte {
	var frame [roundStack]byte
	frame[zero] = 1
	return frame[zero+1]
}
