package redis

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
)

// Disabled returns the table of what operators have disabled, for all replicas, which announces its changes.
func (r *Replica) Disabled() *AnnouncedTable {
	return &AnnouncedTable{Table{r: r, key: r.prefix + ":{disabled}"}}
}

// AnnouncedTable is a Table whose changes are announced to all replicas. It implements disabled.Store.
type AnnouncedTable struct{ Table }

var _ disabled.Store = (*AnnouncedTable)(nil)

// announcements is the channel of the announcements, which all replicas receive.
func (r *Replica) announcements() string { return r.prefix + ":disabled" }

// Announce implements disabled.Store.
func (t *AnnouncedTable) Announce(ctx context.Context) error {
	channel := t.r.announcements()
	if err := t.r.send(ctx, channel, func() error { return t.r.client.Publish(ctx, channel, "").Err() }); err != nil {
		return unavailable(ctx, err)
	}
	return nil
}

// OnAnnounced implements disabled.Store. fn is called from Start to Close, also after each subscription but the first.
func (t *AnnouncedTable) OnAnnounced(fn func()) { t.r.announced.Store(&fn) }

// hear calls the function of OnAnnounced, if there is one.
func (r *Replica) hear() {
	if fn := r.announced.Load(); fn != nil {
		(*fn)()
	}
}
