package check

import "sync"

// atOnce bounds the backends that are checked concurrently.
const atOnce = 8

// each calls do for 0 to n-1 concurrently, and returns after all have returned. The calling
// goroutine calls after, unless it is nil, for each in order, as soon as do has returned for it and
// all before it.
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
