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

// rereadInterval is the interval at which the settings file is checked. An invalid file is reported
// after two equal readings, because it may still be being written.
const rereadInterval = time.Second

// rereadable is a part of the settings that is reread when its file changes.
type rereadable struct {
	what string // for messages
	file string // empty disables rereading
	log  *slog.Logger
	// read rereads the file and applies it. After an error the last settings stay in force.
	read  func(file string) (exchanged bool, err error)
	stale atomic.Bool
	// exchanges counts the changes applied after the first settings.
	exchanges atomic.Int64
	// taken is the content of the file that is in force, last the content read last. They belong to
	// the watching goroutine.
	taken, last []byte
	// unused is why the content read last cannot be used, or nil. It belongs to the watching
	// goroutine.
	unused error
}

// watchSettings rereads the settings file when it changes and on request, until ctx ends. It
// applies a changed policy and changed quotas, and logs that other changes need a restart. An
// invalid file is logged, and the last settings stay in force.
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
			refresh() // the file has been written before the request
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

// inForce says that another part of the settings is in force. what names the part, and may be
// plural.
func inForce(what string) string {
	if strings.HasSuffix(what, "s") {
		return "other " + what + " are in force"
	}
	return "another " + what + " is in force"
}
