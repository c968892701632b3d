package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/config"
)

// settingsInterval is the interval at which the settings file is read, unless WithSettingsInterval sets another. Its content
// is used, or reported, after two equal readings, because it may still be being written.
const settingsInterval = time.Second

// settingsFile is the watched file of settings. A file that cannot be used changes nothing.
type settingsFile struct {
	reader *config.Reader
	// stale is true if the file cannot be used, so that the previous settings stay in force.
	stale atomic.Bool
	// status is the state for operators; nil without a file.
	status atomic.Pointer[admin.Settings]

	// interval is the time between two readings.
	interval time.Duration

	// mu serializes changes of the generation, and guards the members below.
	mu sync.Mutex
	// taken is the content that was used last, and last the content that was read last.
	taken, last content
	// files are the digests of the files that were used last, by name.
	files map[string]string
	// refused is why the content read last cannot be used, or nil.
	refused error
	// logged is the refusal that was logged last, while stale.
	logged refusal
	// waiting are the keys that take a restart.
	waiting []config.Waiting
	// owners are the owners of included files.
	owners owners
	// rolledBack is true if an operator has put the settings in force, and the file has others.
	rolledBack atomic.Bool
	// held is, while rolledBack, the content that was refused when the settings were rolled back. It
	// is not tried again. nil without one.
	held *heldContent
}

// content is the text of the file, or the error of reading it, and the digest of the files that it
// includes.
type content struct{ text, err, included string }

// heldContent is content of the file that was refused, and the error.
type heldContent struct {
	content
	err error
}

// refusal is content of the file that cannot be used, and the reason.
type refusal struct {
	content
	reason string
}

// newSettings prepares the reading of the settings file.
func (a *App) newSettings() {
	s := &a.settings
	s.reader = config.NewReader(&a.cfg)
	s.taken = content{text: string(s.reader.Taken()), included: s.reader.TakenIncluded().Digest()}
	s.last, s.files = s.taken, config.AllFiles(a.cfg.File, s.taken.text, s.reader.TakenIncluded())
	s.owners.set(&a.cfg, a.log)
}

// watchSettings reads the settings file at intervals and on request, and puts its changes in force,
// until ctx ends.
func (a *App) watchSettings(ctx context.Context) {
	t := time.NewTicker(a.settings.interval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			a.refreshSettings(ctx)
		case <-a.rereads:
			if a.cfg.File == "" {
				a.log.Info("asked to read the settings again: there is no file of them; those of the environment and of flags take a restart")
				continue
			}
			a.rereadSettings(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// refreshSettings reads the file, and puts it in force if its content is new and settled.
func (a *App) refreshSettings(ctx context.Context) {
	if a.cfg.File == "" {
		return
	}
	s := &a.settings
	s.mu.Lock()
	defer s.mu.Unlock()
	now := content{}
	raw, err := os.ReadFile(a.cfg.File)
	if now.text = string(raw); err != nil {
		now.err = err.Error()
	}
	included := s.reader.Included(raw)
	now.included = included.Digest()
	settled := now == s.last
	if s.last = now; !settled || now == s.taken && s.refused == nil {
		return
	}
	switch {
	case now == s.taken: // It is in force, or was rolled back.
		s.refused = nil
	case s.held != nil && now == s.held.content:
		s.refused = s.held.err
	default: // A refused content is tried again: a file that it names may be there now.
		s.refused = a.take(ctx, now, included)
	}
	a.report(now)
	a.storeStatus()
}

// take puts the content of the settings file, and of the files that it includes, in force. The
// error is the reason for which the content cannot be used.
func (a *App) take(ctx context.Context, now content, included config.Included) error {
	s := &a.settings
	if now.err != "" {
		return &unreadable{now.err}
	}
	in := a.current.Load()
	read, err := s.reader.Read([]byte(now.text), included, in.Generation)
	if err != nil {
		return err
	}
	files := config.AllFiles(a.cfg.File, now.text, included)
	if read.Digest != in.Digest {
		if err := a.exchange(ctx, read, false, config.ChangedFiles(s.files, files)); err != nil {
			return err
		}
	} else if s.rolledBack.Load() {
		a.log.Info("the file of settings now has the settings of the rollback, and is in force", "config", a.cfg.File, "digest", in.short())
	}
	if read.Digest == in.Digest {
		a.relocate(read, in)
	}
	s.taken, s.files, s.held = now, files, nil
	s.rolledBack.Store(false)
	s.owners.set(&read.Config, a.log)
	a.warnOfWaiting(read.Waiting)
	return nil
}

// relocate updates the lines of owners' conditions in the log. read has the content of the
// generation in force, but a comment may have moved its lines.
func (a *App) relocate(read *config.Generation, in *generation) {
	moved := in.Policy != nil && !in.Policy.SamePlaces(read.Policy)
	sets := make(map[string]*config.OpenSet, len(in.Sets))
	for name, s := range in.Sets {
		one := *s
		if now := read.Sets[name]; now != nil && now.Place != s.Place {
			one.Place, moved = now.Place, true
		}
		sets[name] = &one
	}
	if !moved {
		return
	}
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	next, content := *in, *in.Generation
	content.Sets, next.Generation = sets, &content
	if in.Policy != nil {
		content.Policy = read.Policy
	}
	// Views keep what decides about them, so that they are made again.
	a.dispatch.Catalog().Replace(next.Overlay, next.Overlays(), func() {
		if in.Policy != nil {
			a.access.SetPolicy(content.Policy, in.server.client)
		}
		a.current.Store(&next)
	}, false)
	if in.Policy != nil {
		a.gone.add(in.Policy)
	}
}

// unreadable is the error of a file that cannot be read.
type unreadable struct{ text string }

func (u *unreadable) Error() string { return "config: " + u.text }

// report logs the result of a reading: each refusal once, and the end of the last one.
func (a *App) report(now content) {
	s := &a.settings
	if s.refused == nil {
		if s.stale.Swap(false) {
			a.logUsable()
		}
		return
	}
	this := refusal{now, s.refused.Error()}
	if s.stale.Swap(true) && s.logged == this {
		return
	}
	s.logged = this
	a.log.Error("the file of settings cannot be used: what was read before stays in force", "config", a.cfg.File, "error", s.refused)
}

// logUsable logs that a refused content is gone.
func (a *App) logUsable() {
	if a.settings.rolledBack.Load() {
		a.log.Info("the file of settings can be used again, but has not changed since the rollback: the settings of the rollback stay in force until it changes", "config", a.cfg.File)
		return
	}
	a.log.Info("the file of settings can be used again, and is in force", "config", a.cfg.File)
}

// warnOfWaiting logs each key that takes a restart, once.
func (a *App) warnOfWaiting(now []config.Waiting) {
	s := &a.settings
	for _, w := range now {
		if slices.ContainsFunc(s.waiting, func(known config.Waiting) bool { return known.Key == w.Key }) {
			continue
		}
		a.log.Warn("a key of the file of settings has changed: restart the edge to put it in force", "config", a.cfg.File, "key", w.Key, "place", w.Place)
	}
	if len(now) == 0 && len(s.waiting) > 0 {
		a.log.Info("no key of the file of settings waits for a restart any more", "config", a.cfg.File)
	}
	s.waiting = now
}

// rereadSettings reads the file on request. It reads it twice, because a fault counts only if two
// consecutive reads find it. It logs the result, unless a reading has already logged a change.
func (a *App) rereadSettings(ctx context.Context) {
	before := a.logged()
	a.refreshSettings(ctx)
	a.refreshSettings(ctx)
	if a.logged() == before {
		a.logRequested()
	}
}

// loggedSettings is the state of the settings as far as its changes are logged.
type loggedSettings struct {
	generation        int64
	stale, rolledBack bool
	refusal           refusal
	waiting           string
}

func (a *App) logged() loggedSettings {
	s := &a.settings
	s.mu.Lock()
	defer s.mu.Unlock()
	return loggedSettings{a.current.Load().number, s.stale.Load(), s.rolledBack.Load(), s.logged, strings.Join(s.keys(), " ")}
}

// logRequested logs the result of a requested reading.
func (a *App) logRequested() {
	s := &a.settings
	s.mu.Lock()
	defer s.mu.Unlock()
	const asked = "asked to read the settings again: "
	switch keys := s.keys(); {
	case s.refused == nil && s.rolledBack.Load():
		a.log.Warn(asked+"the file has not changed since the rollback: the settings of the rollback stay in force until it changes", "config", a.cfg.File)
	case s.refused != nil:
		a.log.Error(asked+"the file cannot be used, and what was read before stays in force", "config", a.cfg.File, "error", s.refused)
	case len(keys) > 0:
		a.log.Warn(asked+"the file was read, and these keys take a restart", "config", a.cfg.File, "keys", strings.Join(keys, ", "))
	default:
		a.log.Info(asked+"the file was read and is in force", "config", a.cfg.File)
	}
}

// keys returns the keys that take a restart.
func (s *settingsFile) keys() (keys []string) {
	for _, w := range s.waiting {
		keys = append(keys, w.Key)
	}
	return keys
}

// storeStatus updates the state for operators. mu is locked, or the edge does not run yet.
func (a *App) storeStatus() {
	if a.cfg.File == "" {
		return
	}
	s, g := &a.settings, a.current.Load()
	s.status.Store(&admin.Settings{
		File: a.cfg.File, Unusable: s.refused, Restart: s.keys(),
		Generation: g.number, Digest: g.Digest, Since: g.since, RolledBack: s.rolledBack.Load(), Previous: previousOf(g),
		Owners: *s.owners.status.Load(),
	})
}

func previousOf(g *generation) string {
	if g.before == nil {
		return ""
	}
	return g.before.Digest
}

// RollBack implements admin.Replica. The generation before stays in force until the content of the
// file changes.
func (a *App) RollBack(ctx context.Context) error {
	s := &a.settings
	s.mu.Lock()
	defer s.mu.Unlock()
	now := a.current.Load()
	switch {
	case now.rolledBack && s.refused != nil:
		return fmt.Errorf("the settings were rolled back already, and only one step back is possible; the files cannot be used now, so they have no effect: repair them: %w", s.refused)
	case now.rolledBack && !s.rolledBack.Load():
		return errors.New("the settings in force are those of the last rollback, and the file has the same; only one step back is possible: change the file")
	case now.rolledBack:
		return errors.New("the settings were rolled back already, and earlier ones are not kept: change the file")
	case now.before == nil:
		return errors.New("no other settings were in force in this process: change the file")
	}
	before, err := now.before.Renew()
	if err != nil {
		return err
	}
	if err := a.exchange(context.WithoutCancel(ctx), before, true, nil); err != nil {
		return fmt.Errorf("the settings before cannot be used: %w", err)
	}
	s.owners.set(&before.Config, a.log)
	s.rolledBack.Store(true)
	if s.held = nil; s.refused != nil {
		s.held = &heldContent{s.logged.content, s.refused}
	}
	a.log.Warn("an operator has rolled the settings back: they are in force until the file, one that it includes, or that of the lock changes", "config", a.cfg.File, "digest", a.current.Load().short())
	a.storeStatus()
	return nil
}
