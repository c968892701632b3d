package app

import (
	"bytes"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/config"
)

// restart finds the keys of the settings file that have changed since start without being applied.
type restart struct {
	file string
	log  *slog.Logger
	// others are the parts of the file that are applied while the process runs, and that report an
	// unreadable file.
	others []string
	// begun is the content of the file at start.
	begun config.Config
	// last is the content read last, seen the content when its keys were last compared, logged the
	// keys that were logged.
	last, seen []byte
	logged     []string
	// unread is why the compared content cannot be read, or nil.
	unread error
}

func (a *App) newRestart() *restart {
	r := &restart{file: a.cfg.File, log: a.log}
	if r.file == "" {
		return r
	}
	for _, p := range a.reread.parts {
		r.others = append(r.others, p.what)
	}
	r.last, _ = os.ReadFile(r.file) // an unreadable file has no keys
	r.seen = r.last
	r.begun, _ = config.ReadFile(r.file)
	return r
}

// refresh compares the file with its content at start, after two equal readings. unusable is whether
// one of the others cannot use the file; then the comparison waits until it can.
func (r *restart) refresh(unusable bool) {
	raw, err := os.ReadFile(r.file)
	if err != nil {
		raw = nil
	}
	settled := bytes.Equal(raw, r.last)
	r.last = raw
	if !settled || unusable || bytes.Equal(raw, r.seen) {
		return
	}
	r.seen = raw
	now, err := config.ReadFile(r.file)
	was := r.unread
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
	if was != nil && len(r.others) == 0 {
		r.log.Info("the file of settings can be read again", "config", r.file)
	}
	switch {
	case slices.Equal(keys, r.logged):
	case len(keys) == 0:
		r.log.Info("the file of settings is again as it was at the start: nothing waits for a restart", "config", r.file)
	default:
		r.log.Warn("the file of settings has changed: restart the edge to put these keys in force", "config", r.file, "keys", strings.Join(keys, ", "))
	}
	r.logged = keys
}
