package server

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/services/internal/folder"
)

const (
	maxPrompts = 1000
	maxPrompt  = 1 << 20 // bytes per file
)

//go:embed samples/*.md
var samples embed.FS

// addSamples adds the bundled files.
func addSamples(s *capability.Server) error {
	entries, err := samples.ReadDir("samples")
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := samples.ReadFile("samples/" + e.Name())
		if err != nil {
			return err
		}
		p, err := parseFile(e.Name(), data)
		if err != nil {
			return fmt.Errorf("bundled prompt %s: %w", e.Name(), err)
		}
		newLoaded(p).add(s, p)
	}
	return nil
}

// directory keeps the prompts of a Server in sync with the files of a folder.
type directory struct {
	server *capability.Server
	folder *folder.Folder
	log    *slog.Logger

	mu     sync.Mutex // held during a reload
	loaded map[string]*loaded
	bad    map[string]string // the error reported for each file, so that it is logged once
}

// loaded is a prompt on the Server. Its text can change without a change of the list.
type loaded struct {
	file *filePrompt // guarded by the directory's mutex
	text atomic.Pointer[template]
}

func newLoaded(p *filePrompt) *loaded {
	l := &loaded{file: p}
	l.text.Store(&p.text)
	return l
}

func (l *loaded) add(s *capability.Server, p *filePrompt) {
	capability.AddPrompt(s, p.listed, func(_ context.Context, _ *capability.Call, arguments map[string]string) (string, error) {
		return l.text.Load().fill(arguments), nil
	}, p.suggestions...)
}

func openDirectory(s *capability.Server, o Options) (*directory, error) {
	f, err := folder.New(o.Dir, folder.Options{Flat: true, MaxFiles: maxPrompts, MaxBytes: maxPrompt, Debounce: o.debounce})
	if err != nil {
		return nil, fmt.Errorf("directory %q cannot be served: %w", o.Dir, err)
	}
	d := &directory{server: s, folder: f, log: o.Logger, loaded: map[string]*loaded{}, bad: map[string]string{}}
	d.reload()
	return d, nil
}

// watch reloads until stop is called. It loads changes since the last load at once.
func (d *directory) watch() (stop func(), err error) {
	stop, err = d.folder.Watch(d.log, func(folder.Change) { d.reload() })
	if err == nil {
		d.reload()
	}
	return stop, err
}

// reload makes the prompts match the files. Files that are not valid prompts are logged and
// skipped.
func (d *directory) reload() {
	d.mu.Lock()
	defer d.mu.Unlock()
	files, err := d.folder.Files()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("the directory of prompts cannot be read; the current prompts stay", "directory", d.folder.Path(), "error", err)
		return
	}
	present := map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file, extension) {
			continue
		}
		p, err := d.read(file)
		if err != nil {
			d.report(file, err)
			continue
		}
		delete(d.bad, file)
		present[file] = true
		d.put(file, p)
	}
	for file := range d.bad {
		if !slices.Contains(files, file) {
			delete(d.bad, file)
		}
	}
	for file, l := range d.loaded {
		if !present[file] {
			d.server.RemovePrompt(l.file.listed.GetName())
			delete(d.loaded, file)
		}
	}
}

func (d *directory) read(file string) (*filePrompt, error) {
	data, err := d.folder.Read(file)
	if err != nil {
		return nil, err
	}
	return parseFile(file, data)
}

// put adds a prompt, or changes only its text if nothing else has changed.
func (d *directory) put(file string, p *filePrompt) {
	old := d.loaded[file]
	if old != nil && proto.Equal(old.file.listed, p.listed) && old.file.values == p.values {
		old.file = p
		old.text.Store(&p.text)
		return
	}
	l := newLoaded(p)
	d.loaded[file] = l
	l.add(d.server, p)
}

func (d *directory) report(file string, err error) {
	if d.bad[file] == err.Error() {
		return
	}
	d.bad[file] = err.Error()
	d.log.Warn("a file is not a valid prompt and is skipped", "directory", d.folder.Path(), "file", file, "error", err)
}
