package redis

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/ownership"
)

// Names returns the table of the names that the backends listed last, for all replicas.
func (r *Replica) Names() *Table {
	return &Table{r: r, key: r.prefix + ":{names}", seals: len(r.seals.keys) > 0}
}

// Table keeps values by name, each with its digest, in two hashes of one slot. Values never expire;
// Write drops unused ones. It is safe for concurrent use. It implements ownership.Store; errors are
// state.ErrUnavailable, or the context's.
type Table struct {
	r   *Replica
	key string
	// seals is true if Write seals values. The digest of a value that the first key sealed ends with
	// sealedBy.
	seals bool
}

var _ ownership.Store = (*Table)(nil)

// digests returns the key of the hash of digests, in the slot of the hash of values.
func (t *Table) digests() string { return t.key + ":d" }

// Digests implements ownership.Store.
func (t *Table) Digests(ctx context.Context) (out map[string]string, err error) {
	err = t.r.send(ctx, t.key, func() (err error) {
		out, err = t.r.client.HGetAll(ctx, t.digests()).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	for name, digest := range out {
		bare, sealed := strings.CutSuffix(digest, t.sealedBy())
		if !sealed { // The value differs from the caller's, which then replaces it.
			bare = "not " + t.sealedBy() + ": " + digest
		}
		out[name] = bare
	}
	return out, nil
}

// sealedBy names the key that seals values; "" if Write does not seal.
func (t *Table) sealedBy() string {
	if !t.seals {
		return ""
	}
	return "." + t.r.seals.keys[0].id()
}

// Values implements ownership.Store.
func (t *Table) Values(ctx context.Context, names []string) (map[string][]byte, error) {
	var found []any
	err := t.r.send(ctx, t.key, func() (err error) {
		found, err = t.r.client.HMGet(ctx, t.key, names...).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(names))
	for i, v := range found {
		text, ok := v.(string)
		if !ok {
			continue
		}
		// One that does not open here is missing, as one that is damaged.
		if value, err := t.r.seals.open(bindNames(names[i]), text); err == nil {
			out[names[i]] = value
		}
	}
	return out, nil
}

// Write implements ownership.Store.
func (t *Table) Write(ctx context.Context, set map[string]ownership.Value, drop []string) error {
	return t.r.send(ctx, t.key, func() error {
		_, err := t.r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for name, v := range set {
				p.HSet(ctx, t.key, name, t.r.seals.seal(bindNames(name), v.Bytes))
				p.HSet(ctx, t.digests(), name, v.Digest+t.sealedBy())
			}
			if len(drop) > 0 {
				p.HDel(ctx, t.key, drop...)
				p.HDel(ctx, t.digests(), drop...)
			}
			return nil
		})
		return err
	})
}

// Disabled returns the table of disabled objects for all replicas. It announces its changes.
func (r *Replica) Disabled() *AnnouncedTable {
	return &AnnouncedTable{Table{r: r, key: r.prefix + ":{disabled}"}}
}

// AnnouncedTable is a Table whose changes are announced to all replicas. It implements disabled.Store.
type AnnouncedTable struct{ Table }

var _ disabled.Store = (*AnnouncedTable)(nil)

var stampScript, supersedeScript = own("stamp"), compile("supersede")

// Stamp implements disabled.Store.
func (t *AnnouncedTable) Stamp(ctx context.Context, key string, u disabled.Unstamped) (int64, error) {
	v, err := t.r.eval(ctx, stampScript, []string{t.key, t.digests()}, key, u.After, u.Head, u.Tail, u.Sum)
	if err != nil {
		return 0, err
	}
	// Replicas that miss the announcement read the table within a second.
	channel := t.r.announcements()
	_ = t.r.send(ctx, channel, func() error { return t.r.client.Publish(ctx, channel, "").Err() })
	return reply{rest: []any{v}}.number(0), nil
}

// Supersede implements disabled.Store.
func (t *AnnouncedTable) Supersede(ctx context.Context, set map[string]ownership.Value, drop map[string]string) error {
	args := []any{len(set)}
	for name, v := range set {
		args = append(args, name, v.Digest, v.Bytes)
	}
	for name, digest := range drop {
		args = append(args, name, digest)
	}
	_, err := t.r.eval(ctx, supersedeScript, []string{t.key, t.digests()}, args...)
	return err
}

// announcements is the channel of the announcements, which all replicas receive.
func (r *Replica) announcements() string { return r.prefix + ":disabled" }

// OnAnnounced implements disabled.Store. fn is called from Start to Close, including after each
// subscription except the first.
func (t *AnnouncedTable) OnAnnounced(fn func()) { t.r.announced.Store(&fn) }

// announceHere calls the function of OnAnnounced, if there is one.
func (r *Replica) announceHere() {
	if fn := r.announced.Load(); fn != nil {
		(*fn)()
	}
}
