package redis

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/ownership"
)

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
	t.announce(ctx)
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

// announce asks all replicas to read the table. Those that miss it read it within a second.
func (t *AnnouncedTable) announce(ctx context.Context) {
	channel := t.r.announcements()
	_ = t.r.send(ctx, channel, func() error { return t.r.client.Publish(ctx, channel, "").Err() })
}

// OnAnnounced implements disabled.Store. fn is called from Start to Close, including after each
// subscription except the first.
func (t *AnnouncedTable) OnAnnounced(fn func()) { t.r.announced.Store(&fn) }

// announceHere calls the function of OnAnnounced, if there is one.
func (r *Replica) announceHere() {
	if fn := r.announced.Load(); fn != nil {
		(*fn)()
	}
}
