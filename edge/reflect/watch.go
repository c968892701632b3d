package reflect

import (
	"time"

	"google.golang.org/grpc/connectivity"
)

// watch follows the connection to the target until the adapter is closed. After the connection was
// lost, the methods are learned again before calls are served. If another connection has replaced
// it without a loss, they are learned again while calls continue.
func (a *Adapter) watch() {
	for up := false; ; {
		state := a.target.GetState()
		switch state {
		case connectivity.Ready:
			a.connected(up)
			up = true
		case connectivity.TransientFailure, connectivity.Shutdown:
			a.disconnected()
			up = false
		}
		if !a.target.WaitForStateChange(a.ctx, state) {
			return
		}
	}
}

// connected records that the target is connected. again means that it was connected before and not lost
// since.
func (a *Adapter) connected(again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case again:
		a.relearnLocked()
	case !a.fresh && a.pace.wait(time.Now()) == 0:
		a.learning()
	}
}

// disconnected records that the target is away.
func (a *Adapter) disconnected() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh = false
	a.losses++
}

// refresh learns the methods again, if they are served and pace allows.
func (a *Adapter) refresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fresh && a.pace.wait(time.Now()) == 0 {
		a.learning()
	}
}

// reloadMin is the minimum delay between a reason to suspect a change and learning. There may be
// many such reasons.
const reloadMin = time.Second

// relearn schedules learning. Further calls until it begins have no effect.
func (a *Adapter) relearn() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.relearnLocked()
}

// relearnLocked is relearn. The caller holds mu.
func (a *Adapter) relearnLocked() {
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
		if a.fresh { // otherwise the next request learns them
			a.learning()
		}
	})
}
