package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Proofs are those by which clients prove that they have the key of their token, each of which may be used once.
func (r *Replica) Proofs() *Proofs { return &Proofs{r} }

// Proofs keeps a key for each proof that was used, as long as it would be accepted. Its name tells nobody what the proof
// was. Safe for concurrent use.
type Proofs struct{ r *Replica }

// Spend notes that a proof was used. fresh: it was not used before, on any replica. One whose reply was lost may be told
// not to be fresh when it is sent again.
func (p *Proofs) Spend(ctx context.Context, id string, life time.Duration) (fresh bool, err error) {
	key := p.r.proof(id)
	err = p.r.send(ctx, key, func() error {
		_, err := p.r.client.SetArgs(ctx, key, 1, redis.SetArgs{Mode: "NX", TTL: life}).Result()
		if fresh = err == nil; errors.Is(err, redis.Nil) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, unavailable(ctx, err)
	}
	return fresh, nil
}

// proof is the key of a proof.
func (r *Replica) proof(id string) string {
	sum := sha256.Sum256([]byte(id))
	return r.prefix + ":p:{" + hex.EncodeToString(sum[:]) + "}"
}
