package app

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// rereadInterval is the interval at which the settings file is checked. An invalid file is reported
// after two equal readings, because it may still be being written.
const rereadInterval = time.Second

// rereadable is a part of the settings that is reread when the file changes.
type rereadable struct {
	what string // for messages; empty: it is not reread
	// prepare reads the part from the file. apply puts it in force, and reports whether it differs
	// from what was.
	prepare func(file string) (apply func() (exchanged bool), err error)
	// exchanges counts the changes applied after the first settings.
	exchanges atomic.Int64
}

// reread is the rereading of the settings file. A file with a part that cannot be used changes no
// part. Only stale may be read outside the watching goroutine.
type reread struct {
	file string // empty disables rereading
	log  *slog.Logger
	// parts are the rereadable parts, in the order in which they are prepared and applied.
	parts []*rereadable
	// stale is whether the file cannot be used, so that what was read before stays in force.
	stale atomic.Bool
	// taken is the content of the file that is in force, last the content read last.
	taken, last []byte
	// unused is why the content read last cannot be used, or nil.
	unused error
	// logged is the failure that was logged last, while stale.
	logged unusable
}

// unusable is a content of a file and why it cannot be used. An unreadable file has no content.
type unusable struct{ content, reason string }

// newReread makes the rereading of the parts that this edge has.
func (a *App) newReread() {
	r := &a.reread
	r.file, r.log = a.cfg.File, a.log
	// The policy is the last one: what it prepares may hold a connection.
	for _, p := range []*rereadable{&a.curating, &a.limiting, &a.governing.rereadable} {
		if p.what != "" {
			r.parts = append(r.parts, p)
		}
	}
	if len(r.parts) == 0 {
		r.file = ""
	}
}

// observeReread registers the rereading of the settings file with telemetry.
func (a *App) observeReread() []error {
	return []error{a.telemetry.Observe(telemetry.SettingsStale, func(emit telemetry.Emit) { emit(one(a.reread.stale.Load())) })}
}

// watchSettings rereads the settings file when it changes and on request, until ctx ends. It
// applies what of it is rereadable, and logs that other changes need a restart. An
// invalid file is logged, and the last settings stay in force.
func (a *App) watchSettings(ctx context.Context) {
	restart := a.newRestart()
	refresh := func() {
		a.reread.refresh()
		restart.refresh(a.reread.unused != nil)
		a.settings.Store(a.readSettings(restart))
	}
	if a.cfg.File != "" {
		a.settings.Store(a.readSettings(restart))
	}
	t := time.NewTicker(rereadInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if a.cfg.File != "" {
				refresh()
			}
		case <-a.rereads:
			if a.cfg.File == "" {
				a.log.Info("asked to read the settings again: there is no file of them; those of the environment and of flags take a restart")
				continue
			}
			refresh()
			refresh() // the file has been written before the request
			a.logReread(restart)
		case <-ctx.Done():
			return
		}
	}
}

// readSettings returns the state of the settings file for operators. An error counts once it was
// reported.
func (a *App) readSettings(restart *restart) *admin.Settings {
	s := &admin.Settings{File: a.cfg.File, Unusable: restart.unread, Restart: restart.logged}
	if a.reread.stale.Load() {
		s.Unusable = a.reread.unused
	}
	return s
}

// logReread logs the result of a requested reload.
func (a *App) logReread(restart *restart) {
	const asked = "asked to read the settings again: "
	for _, err := range []error{a.reread.unused, restart.unread} {
		if err != nil {
			a.log.Error(asked+"the file cannot be used, and what was read before stays in force", "config", a.cfg.File, "error", err)
			return
		}
	}
	if len(restart.logged) > 0 {
		a.log.Warn(asked+"the file was read, and these keys take a restart", "config", a.cfg.File, "keys", strings.Join(restart.logged, ", "))
		return
	}
	a.log.Info(asked+"the file was read and is in force", "config", a.cfg.File)
}

// refresh reads the file, and applies it if all parts can be used.
func (r *reread) refresh() {
	if r.file == "" {
		return
	}
	raw, err := os.ReadFile(r.file)
	if err != nil {
		raw = nil
	}
	settled := bytes.Equal(raw, r.last)
	r.last = raw
	if raw != nil && r.taken != nil && bytes.Equal(raw, r.taken) {
		r.unused = nil
		if r.stale.Swap(false) {
			r.log.Info("the file of settings is again as it was read before", "config", r.file)
		}
		return
	}
	r.unused = r.apply()
	switch {
	case r.unused == nil:
		r.taken = raw
		if r.stale.Swap(false) {
			r.log.Info("the file of settings can be used again, and is in force", "config", r.file)
		}
	case settled:
		this := unusable{string(raw), r.unused.Error()}
		if r.stale.Swap(true) && r.logged == this {
			return
		}
		r.logged = this
		r.log.Error("the file of settings cannot be used: what was read before stays in force", "config", r.file, "error", r.unused)
	}
}

// apply puts all parts of the file in force. After an error none is.
func (r *reread) apply() error {
	changes := make([]func() bool, len(r.parts))
	for i, p := range r.parts {
		var err error
		if changes[i], err = p.prepare(r.file); err != nil {
			return err
		}
	}
	for i, p := range r.parts {
		if changes[i]() {
			p.exchanges.Add(1)
			r.log.Info(inForce(p.what), "config", r.file)
		}
	}
	return nil
}

// inForce says that another part of the settings is in force. what names the part, and may be
// plural.
func inForce(what string) string {
	if strings.HasSuffix(what, "s") {
		return "other " + what + " are in force"
	}
	return "another " + what + " is in force"
}
