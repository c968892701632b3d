package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"
)

// maxProofs bounds the proofs that one process remembers: those of 4,000 requests a second, for the minute that a proof is
// accepted.
const maxProofs = 256 << 10

// errManyProofs says that no more proofs can be remembered.
var errManyProofs = errors.New("too many proofs are remembered")

// proofs are those that were used, in memory. It never forgets one that would be accepted still: when it is full, it takes no
// more. Safe for concurrent use.
type proofs struct {
	most int

	mu sync.Mutex
	// used has until when each is remembered, by its digest.
	used map[digest]time.Time
	// swept is when those were last forgotten that are over.
	swept time.Time
}

func newProofs(most int) *proofs { return &proofs{most: most, used: map[digest]time.Time{}} }

// sweepProofs is how often proofs are forgotten that are over.
const sweepProofs = 10 * time.Second

// Spend implements Proofs.
func (p *proofs) Spend(_ context.Context, id string, life time.Duration) (fresh bool, _ error) {
	d, now := digest(sha256.Sum256([]byte(id))), time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.swept) >= sweepProofs {
		p.swept = now
		for other, until := range p.used {
			if !now.Before(until) {
				delete(p.used, other)
			}
		}
	}
	if until, there := p.used[d]; there && now.Before(until) {
		return false, nil
	}
	if len(p.used) >= p.most {
		return false, errManyProofs
	}
	p.used[d] = now.Add(life)
	return true, nil
}
