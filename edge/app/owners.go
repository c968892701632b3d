package app

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// owners has the states of the included files' owners after the last reading. The zero value has
// none.
type owners struct {
	list []owner
	// status is what operators see of the list; nil before set.
	status atomic.Pointer[[]admin.Owner]
}

// owner is a config.Owner with the time since which its settings are in force.
type owner struct {
	config.Owner
	since time.Time
}

// sameInForce reports whether both have the same settings in force.
func (o *owner) sameInForce(other *owner) bool {
	return o.Digest == other.Digest && (o.State == config.OwnerHidden) == (other.State == config.OwnerHidden)
}

// reason returns why the files cannot be used; empty if they can.
func (o *owner) reason() string {
	if o.Err == nil {
		return ""
	}
	return o.Err.Error()
}

// set takes the owners of settings, and logs what differs.
func (s *owners) set(cfg *config.Config, log *slog.Logger) {
	before := map[string]*owner{}
	for i := range s.list {
		before[s.list[i].Name] = &s.list[i]
	}
	var now []owner
	for _, one := range cfg.Owners() {
		o := owner{one, time.Now()}
		was := before[o.Name]
		if was == nil {
			was = &owner{Owner: config.Owner{State: config.OwnerInForce, Digest: o.Digest}}
		} else if o.sameInForce(was) {
			o.since = was.since
		}
		switch {
		case o.reason() == was.reason() && o.State == was.State:
		case o.State == config.OwnerHidden:
			log.Error("the files of an owner cannot be used: its backends are hidden", "owner", o.Name, "backends", backendsOf(cfg, o.Name), "error", o.Err)
		case o.State == config.OwnerStale:
			log.Error("the files of an owner cannot be used: what was read before stays in force", "owner", o.Name, "error", o.Err)
		default:
			log.Info("the files of an owner can be used again, and are in force", "owner", o.Name, "files", strings.Join(o.Files, ", "))
		}
		now = append(now, o)
	}
	s.list = now
	s.show()
}

// backendsOf returns the backends of an owner.
func backendsOf(cfg *config.Config, owner string) string {
	for i := range cfg.Include {
		if g := &cfg.Include[i]; g.Label() == owner {
			return strings.Join(g.Owns.Backends, ", ")
		}
	}
	return ""
}

// show sets status.
func (s *owners) show() {
	var out []admin.Owner
	for _, o := range s.list {
		out = append(out, admin.Owner{
			Name: o.Name, Pattern: o.Pattern, Files: o.Files, State: string(o.State), Digest: o.Digest, Since: o.since, Err: o.Err,
		})
	}
	s.status.Store(&out)
}

// observeOwners registers the owners with telemetry.
func (a *App) observeOwners() error {
	return a.telemetry.Observe(telemetry.SettingsOwnerStale, func(emit telemetry.Emit) {
		for _, o := range *a.settings.owners.status.Load() {
			emit(one(o.Err != nil), telemetry.AttrOwner.String(o.Name))
		}
	})
}
