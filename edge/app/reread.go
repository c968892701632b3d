package app

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// rereadInterval is how often the file of settings is looked at. What cannot be used is told
// after two readings came to it: the file may be being written.
const rereadInterval = time.Second

// rereadable is a part of the settings that is read again when its file has changed.
type rereadable struct {
	what string // in messages
	file string // empty: it is not read again
	log  *slog.Logger
	// read reads the file again and puts what it says in force. An error leaves what was.
	read  func(file string) (exchanged bool, err error)
	stale atomic.Bool
	// exchanges counts what was put in force after the first.
	exchanges atomic.Int64
	// taken is the file from which what is in force was read, last what was read last. Of the watching goroutine.
	taken, last []byte
	// unused is why the file, as it was read last, cannot be used; nil: it can. Of the watching goroutine.
	unused error
}

// watchSettings reads the file of settings again when it has changed, and when that is asked for, until ctx ends: another policy and other quotas
// are put in force, and of what else has changed it is said that it takes a restart. What cannot be used is logged, and what was read before
// stays in force.
func (a *App) watchSettings(ctx context.Context) {
	restart := a.newRestart()
	refresh := func() {
		a.governing.refresh()
		a.limiting.refresh()
		restart.refresh()
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
			refresh() // whoever asks has written the file
			a.logReread(restart)
		case <-ctx.Done():
			return
		}
	}
}

// logReread logs the result of a requested reload.
func (a *App) logReread(restart *restart) {
	const asked = "asked to read the settings again: "
	for _, err := range []error{a.governing.unused, a.limiting.unused, restart.unread} {
		if err != nil {
			a.log.Error(asked+"the file cannot be used, and what was read before stays in force", "config", a.cfg.File, "error", err)
			return
		}
	}
	if len(restart.told) > 0 {
		a.log.Warn(asked+"the file was read, and these keys take a restart", "config", a.cfg.File, "keys", strings.Join(restart.told, ", "))
		return
	}
	a.log.Info(asked+"the file was read and is in force", "config", a.cfg.File)
}

func (r *rereadable) refresh() {
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
			r.log.Info("the file with the "+r.what+" is again as it was read before", "file", r.file)
		}
		return
	}
	exchanged, err := r.read(r.file)
	r.unused = err
	switch {
	case err == nil:
		r.taken = raw
		r.stale.Store(false)
		if exchanged {
			r.exchanges.Add(1)
			r.log.Info(inForce(r.what), "file", r.file)
		}
	case settled && !r.stale.Swap(true):
		r.log.Error("the file with the "+r.what+" cannot be used: what was read before stays in force", "file", r.file, "error", err)
	}
}

// inForce says that another part of the settings is in force, by its name, which may be a plural.
func inForce(what string) string {
	if strings.HasSuffix(what, "s") {
		return "other " + what + " are in force"
	}
	return "another " + what + " is in force"
}
