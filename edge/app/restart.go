package app

import (
	"bytes"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/config"
)

// restart knows which keys of the file of settings have changed since the start without being put in force.
type restart struct {
	file string
	log  *slog.Logger
	// others are the parts of the file that are put in force while the process runs, and tell of a file that cannot be read.
	others []string
	// begun is what the file said at the start.
	begun config.Config
	// last is the file as it was read last, seen as it was when its keys were compared, told the keys that were logged.
	last, seen []byte
	told       []string
	// unread is why the file, as it was compared last, cannot be read; nil: it can.
	unread error
}

func (a *App) newRestart() *restart {
	r := &restart{file: a.cfg.File, log: a.log}
	if r.file == "" {
		return r
	}
	if a.governing.read != nil {
		r.others = append(r.others, "policy")
	}
	if a.limiting.read != nil {
		r.others = append(r.others, "quotas")
	}
	r.last, _ = os.ReadFile(r.file) // one that cannot be read has no keys
	r.seen = r.last
	r.begun, _ = config.ReadFile(r.file)
	return r
}

// refresh compares the file with what it said at the start, once two readings came to the same.
func (r *restart) refresh() {
	raw, err := os.ReadFile(r.file)
	settled := err == nil && bytes.Equal(raw, r.last)
	r.last = raw
	if !settled || bytes.Equal(raw, r.seen) {
		return
	}
	r.seen = raw
	now, err := config.ReadFile(r.file)
	if r.unread = err; err != nil {
		if len(r.others) == 0 {
			r.log.Error("the file of settings has changed and cannot be read: an edge that starts with it would not serve", "config", r.file, "error", err)
		}
		return
	}
	keys := slices.DeleteFunc(config.Differences(&r.begun, &now), func(key string) bool {
		part, _, _ := strings.Cut(key, ".")
		return slices.Contains(r.others, part)
	})
	switch {
	case slices.Equal(keys, r.told):
	case len(keys) == 0:
		r.log.Info("the file of settings is again as it was at the start: nothing waits for a restart", "config", r.file)
	default:
		r.log.Warn("the file of settings has changed: restart the edge to put these keys in force", "config", r.file, "keys", strings.Join(keys, ", "))
	}
	r.told = keys
}
