package check

import "sync"

// atOnce bounds the backends that are looked at at a time.
const atOnce = 8

// each calls do for 0 to n-1, side by side, and returns when all have returned. after, unless nil, is called for each in order, by the
// calling goroutine, as soon as its do and those before it have returned.
func each(n int, do func(int), after func(int)) {
	slots, done := make(chan struct{}, atOnce), make([]chan struct{}, n)
	var all sync.WaitGroup
	defer all.Wait()
	for i := range n {
		done[i] = make(chan struct{})
		all.Go(func() {
			defer close(done[i])
			slots <- struct{}{}
			defer func() { <-slots }()
			do(i)
		})
	}
	for i := range n {
		if <-done[i]; after != nil {
			after(i)
		}
	}
}
