package redis

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
)

// secretSize is the length of the shared key in bytes.
const secretSize = 32

func (r *Replica) secretKey() string { return r.prefix + ":secret" }

// Secret returns the 32 random bytes that all replicas with this Redis and prefix share, generated
// by the first that asks. Replicas that know them store them again in a Redis that has lost them.
// The error is state.ErrUnavailable, or the context's.
func (r *Replica) Secret(ctx context.Context) ([]byte, error) {
	fresh := make([]byte, secretSize)
	_, _ = rand.Read(fresh)
	kept, _, err := r.keepSecret(ctx, fresh)
	if err != nil {
		return nil, err
	}
	r.secret.Store(&kept)
	return kept, nil
}

// keepSecret stores a secret unless one is stored, and returns the stored one. missing is true if
// none was stored before.
func (r *Replica) keepSecret(ctx context.Context, secret []byte) (kept []byte, missing bool, err error) {
	var old string
	err = r.send(ctx, r.secretKey(), func() (err error) {
		old, err = r.client.SetArgs(ctx, r.secretKey(), secret, redis.SetArgs{Mode: "NX", Get: true}).Result()
		if missing = errors.Is(err, redis.Nil); missing {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return nil, false, err
	case missing:
		return secret, true, nil
	case len(old) != secretSize:
		return nil, false, errors.Join(state.ErrUnavailable, errors.New("the key "+r.secretKey()+" in Redis is not this service's: delete it, or use another prefix"))
	}
	return []byte(old), false, nil
}

// restoreSecret stores the secret again if it is unverified. The secret does not expire, so a Redis
// without it has lost all data. The replica that finds this logs it. If Redis cannot be used, the
// secret stays unverified, and the next heartbeat tries again.
func (r *Replica) restoreSecret() {
	mine := r.secret.Load()
	if mine == nil || !r.unverified.CompareAndSwap(true, false) {
		return
	}
	ctx, cancel := detachedContext(context.Background())
	defer cancel()
	kept, missing, err := r.keepSecret(ctx, *mine)
	if err != nil {
		r.unverified.Store(true)
		return
	}
	if missing {
		r.log.Warn("Redis has lost its data, or is another, empty Redis: sessions, tasks and their logs are lost, and clients must start new ones",
			"prefix", r.prefix)
	}
	if string(kept) != string(*mine) {
		r.log.Warn("Redis has lost the secret of the replicas and has another one: calls of stateless clients that wait for an answer must be sent again; to avoid this, give all replicas the same redis.seal-keys")
	}
}
