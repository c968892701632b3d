package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// retryScan is how soon a directory that could not be read is tried again.
const retryScan = time.Second

// Change is what happened since the last one, as paths like those of Files, sorted by no rule.
type Change struct {
	// Listed: files came or went, so that Files answers differently.
	Listed bool
	// Updated files have new contents, have come or have gone.
	Updated []string
}

// Watch calls tell, in one goroutine, after files changed; from the moment it returns nothing is
// missed. A change may be told twice. The caller ends it with stop, which waits for a running tell.
func (f *Folder) Watch(log *slog.Logger, tell func(Change)) (stop func(), err error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("directory %s cannot be watched: %w", f.path, err)
	}
	w := &watch{folder: f, log: log, tell: tell, events: events, touched: map[string]bool{}}
	if w.known, err = w.scan(); err != nil {
		_ = events.Close()
		return nil, fmt.Errorf("directory %s cannot be watched: %w", f.path, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run()
	}()
	return func() {
		_ = events.Close()
		<-done
	}, nil
}

// watch is one Watch; all but its creation happens in its goroutine.
type watch struct {
	folder  *Folder
	log     *slog.Logger
	tell    func(Change)
	events  *fsnotify.Watcher
	known   map[string]entry
	touched map[string]bool // written since the last look
	failed  string          // why the last look failed, which is logged once
}

// run gathers events and looks at the directory some time after the first of them, so that a steady
// stream of writes is told at a steady pace.
func (w *watch) run() {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	armed := false
	for {
		select {
		case event, ok := <-w.events.Events:
			if !ok {
				return
			}
			if !w.note(event) {
				continue
			}
		case err, ok := <-w.events.Errors:
			if !ok {
				return
			}
			// An overflow loses events, not changes: the next look finds them.
			w.log.Warn("watching a directory", "directory", w.folder.path, "error", err)
		case <-timer.C:
			armed = false
			if w.look() {
				continue
			}
			timer.Reset(retryScan)
			armed = true
			continue
		}
		if !armed {
			timer.Reset(w.folder.opts.Debounce)
			armed = true
		}
	}
}

// note reports whether an event matters, and remembers which file was written. What is hidden
// matters too: a link may point to it.
func (w *watch) note(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	relative, err := filepath.Rel(w.folder.path, event.Name)
	if err != nil {
		return true
	}
	name := filepath.ToSlash(relative)
	if event.Has(fsnotify.Write) || event.Has(fsnotify.Create) {
		w.touched[name] = true
	}
	return true
}

// look compares the directory with what was known and tells the difference. It reports whether the
// directory could be read.
func (w *watch) look() bool {
	now, err := w.scan()
	if err != nil {
		if w.failed != err.Error() {
			w.failed = err.Error()
			w.log.Warn("a watched directory cannot be read; trying again", "directory", w.folder.path, "error", err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		now = map[string]entry{}
	} else {
		w.failed = ""
	}
	var c Change
	for name, is := range now {
		was, existed := w.known[name]
		if !existed {
			c.Listed = true
		}
		if !existed || is != was || w.touched[name] {
			c.Updated = append(c.Updated, name)
		}
	}
	for name := range w.known {
		if _, exists := now[name]; !exists {
			c.Listed = true
			c.Updated = append(c.Updated, name)
		}
	}
	w.known = now
	clear(w.touched)
	if c.Listed || len(c.Updated) > 0 {
		w.tell(c)
	}
	return err == nil
}

// scan looks at every file and makes sure that every directory is watched, each before it is read.
func (w *watch) scan() (map[string]entry, error) {
	files, err := w.folder.scan(func(path string) error {
		if err := w.events.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w (on Linux, fs.inotify.max_user_watches bounds how many directories can be watched)", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	known := make(map[string]entry, len(files))
	for _, file := range files {
		known[file.name] = file
	}
	return known, nil
}
