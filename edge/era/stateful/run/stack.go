package run

// roundStack is what a round of a call takes of its goroutine's stack, in bytes. The check of the arguments by their
// schema and the call of the backend are its deepest parts.
const roundStack = 10 << 10

// growStack makes the stack of the goroutine as large as a round needs, while there are no frames on it that would have
// to be copied. A new goroutine's stack is small: without this it grows twice in the midst of each round, which takes a
// tenth of what a plain call in a session costs the edge (docs/performance.md). zero is 0: the compiler must not know
// it, or it leaves the frame out.
//
//go:noinline
func growStack(zero int) byte {
	var frame [roundStack]byte
	frame[zero] = 1
	return frame[zero+1]
}
