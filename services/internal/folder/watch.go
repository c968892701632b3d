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

// retryScan is the delay before an unreadable directory is read again.
const retryScan = time.Second

// Change describes the changes since the last one, with unsorted paths as returned by Files.
type Change struct {
	// Listed is true if files were added or removed, so that the result of Files has changed.
	Listed bool
	// Updated are the files that were changed, added or removed.
	Updated []string
}

// Watch calls notify, in one goroutine, after files have changed. After it returns, no change is
// missed; a change may be reported twice. The caller must call stop, which waits for a running
// notify.
func (f *Folder) Watch(log *slog.Logger, notify func(Change)) (stop func(), err error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("directory %s cannot be watched: %w", f.path, err)
	}
	w := &watch{folder: f, log: log, notify: notify, events: events, touched: map[string]bool{}}
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

// watch is the state of one Watch. After its creation only its own goroutine uses it.
type watch struct {
	folder  *Folder
	log     *slog.Logger
	notify  func(Change)
	events  *fsnotify.Watcher
	known   map[string]entry
	touched map[string]bool // files written since the last look
	failed  string          // error of the last look, logged once
}

// run collects events and looks at the directory a fixed time after the first of them, so that
// continuous writes are reported at a steady rate.
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
			// An overflow loses events, but no changes: the next look finds them.
			w.log.Warn("an error while watching a directory", "directory", w.folder.path, "error", err)
		case <-timer.C:
			armed = false
			if w.compare() {
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

// note reports whether an event matters, and records the file that was written. Events of hidden
// files matter too, because a link may point to them.
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

// compare compares the directory with its last state and reports the difference. It returns false if
// the directory is unreadable.
func (w *watch) compare() bool {
	now, err := w.scan()
	if err != nil {
		if w.failed != err.Error() {
			w.failed = err.Error()
			w.log.Warn("a watched directory cannot be read; retrying", "directory", w.folder.path, "error", err)
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
		w.notify(c)
	}
	return err == nil
}

// scan visits every file, and watches every directory before reading it.
func (w *watch) scan() (map[string]entry, error) {
	files, err := w.folder.scan(func(path string) error {
		if err := w.events.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w (on Linux, fs.inotify.max_user_watches limits the number of watched directories)", err)
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
