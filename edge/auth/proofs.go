package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

const (
	// maxProofs bounds the proofs that one process remembers: enough for 3,700 requests a second.
	maxProofs = 256 << 10
	// maxProofsOfOne bounds those of one caller, on all replicas: enough for 900 requests a second.
	maxProofsOfOne = 64 << 10
	// sweepProofs is the interval at which expired proofs are dropped.
	sweepProofs = 10 * time.Second
)

// errManyProofs means that no more proofs can be remembered.
var errManyProofs = errors.New("too many proofs are stored")

// proofs remembers used proofs in memory. It never drops one that would still be accepted: when it
// is full, it refuses more. It is safe for concurrent use.
type proofs struct {
	most int

	mu sync.Mutex
	// used has the proofs by their digests.
	used map[digest]usedProof
	// callers has the callers with proofs, by the digests of their names.
	callers map[digest]*prover
	// swept is when expired proofs were last dropped.
	swept time.Time
}

// usedProof is one proof.
type usedProof struct {
	until time.Time
	of    *prover
}

// prover is a caller with count proofs.
type prover struct {
	name  digest
	count int
}

func newProofs(most int) *proofs {
	return &proofs{most: most, used: map[digest]usedProof{}, callers: map[digest]*prover{}}
}

// Spend implements Proofs.
func (p *proofs) Spend(_ context.Context, caller, id string, life time.Duration, most int) (fresh bool, _ error) {
	d, name, now := digest(sha256.Sum256([]byte(id))), digest(sha256.Sum256([]byte(caller))), time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.swept) >= sweepProofs {
		p.sweep(now)
	}
	before, there := p.used[d]
	if there && now.Before(before.until) {
		return false, nil
	}
	if there {
		p.forget(d, before)
	}
	of := p.callers[name]
	switch {
	case of != nil && of.count >= most:
		return false, mcp.Errorf(mcp.KindLimit, "%d proofs of the caller are stored, the limit", most)
	case len(p.used) >= p.most:
		return false, errManyProofs
	case of == nil:
		of = &prover{name: name}
		p.callers[name] = of
	}
	of.count++
	p.used[d] = usedProof{now.Add(life), of}
	return true, nil
}

// sweep drops expired proofs. The caller holds p.mu, as for forget.
func (p *proofs) sweep(now time.Time) {
	p.swept = now
	for d, one := range p.used {
		if !now.Before(one.until) {
			p.forget(d, one)
		}
	}
}

func (p *proofs) forget(d digest, one usedProof) {
	delete(p.used, d)
	if one.of.count--; one.of.count == 0 {
		delete(p.callers, one.of.name)
	}
}
