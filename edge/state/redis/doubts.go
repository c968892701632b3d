package redis

import (
	"context"
	"sync"
	"time"
)

const (
	// doubtFor is how long a lost reply is looked after: its command may still be on its way.
	doubtFor = 15 * time.Second
	// maxDoubts bounds them; beyond, the call is an orphan at its deadline.
	maxDoubts = 4096
)

// doubt is a claim that may have been made for nobody, because the reply was lost.
type doubt struct {
	session, nonce     string
	ask, call, request string
	until              time.Time
}

type doubts struct {
	mu   sync.Mutex
	list []doubt
}

func (x *doubts) add(d doubt) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.list) < maxDoubts {
		d.until = time.Now().Add(doubtFor)
		x.list = append(x.list, d)
	}
}

func (x *doubts) take() []doubt {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := x.list
	x.list = nil
	return list
}

func (x *doubts) put(list []doubt) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, list...)
}

// settle gives up the claims whose replies were lost, so that they are orphans.
func (r *Replica) settle(ctx context.Context) error {
	list := r.doubts.take()
	for i, d := range list {
		rep, err := r.run(ctx, releaseScript, d.session, d.nonce, d.ask, d.call, d.request)
		if err != nil {
			r.doubts.put(list[i:])
			return err
		}
		if rep.code == "ok" && rep.number(0) == 0 && time.Now().Before(d.until) {
			r.doubts.put([]doubt{d})
		}
	}
	return nil
}
