package reflect

import (
	"time"

	"google.golang.org/grpc/connectivity"
)

// watch follows the connection to the target until the adapter is closed. What may have been deployed anew is learned anew: while calls wait for it where
// the target was lost, and else, where another connection has taken the place of the one before, while they go on.
func (a *Adapter) watch() {
	for up := false; ; {
		state := a.target.GetState()
		switch state {
		case connectivity.Ready:
			a.back(up)
			up = true
		case connectivity.TransientFailure, connectivity.Shutdown:
			a.lost()
			up = false
		}
		if !a.target.WaitForStateChange(a.ctx, state) {
			return
		}
	}
}

// back notes that the target is connected. again: it was before, and not lost since.
func (a *Adapter) back(again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case again:
		a.later()
	case !a.fresh && a.pace.wait(time.Now()) == 0:
		a.learning()
	}
}

// lost notes that the target is away.
func (a *Adapter) lost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh = false
	a.losses++
}

// refresh learns the methods anew, if they are served and may be learned already.
func (a *Adapter) refresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fresh && a.pace.wait(time.Now()) == 0 {
		a.learning()
	}
}

// reloadMin is the least time until the methods are learned anew that something has cast doubt on: it may be the first of many.
const reloadMin = time.Second

// relearn has the methods learned anew soon, once for all who ask for it until then.
func (a *Adapter) relearn() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.later()
}

// later is relearn. The caller holds mu.
func (a *Adapter) later() {
	if a.due || a.closed {
		return
	}
	a.due = true
	wait := max(reloadMin, a.pace.wait(time.Now()))
	a.group.Go(func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-a.ctx.Done():
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.due = false
		if a.fresh { // else who asks next learns them
			a.learning()
		}
	})
}
