// Package folder serves the files of one directory safely: within it, bounded, and with word of what
// changes. Hidden files and directories (a leading dot) do not exist for it. A symbolic link is
// followed to a file inside the directory, never out of it and never into a directory.
package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

var (
	// ErrTooMany: the directory has more entries than its bound.
	ErrTooMany = errors.New("too many files")
	// ErrTooLarge: the file has more bytes than its bound.
	ErrTooLarge = errors.New("file too large")
)

// Options bound a Folder.
type Options struct {
	// Flat leaves subdirectories out.
	Flat bool
	// MaxFiles bounds the entries looked at, files and directories; 0: 10,000.
	MaxFiles int
	// MaxBytes bounds a file that is read; 0: 10 MiB.
	MaxBytes int64
	// Debounce is how long changes are gathered before they are told; 0: 100 ms.
	Debounce time.Duration
}

func (o Options) withDefaults() Options {
	if o.MaxFiles == 0 {
		o.MaxFiles = 10_000
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 10 << 20
	}
	if o.Debounce == 0 {
		o.Debounce = 100 * time.Millisecond
	}
	return o
}

// Folder is one directory. It holds nothing open; its methods may be used concurrently.
type Folder struct {
	path string
	opts Options
}

// New returns the folder at path, which must be a directory that can be read within the bounds.
func New(path string, o Options) (*Folder, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("directory %q: %w", path, err)
	}
	f := &Folder{path: absolute, opts: o.withDefaults()}
	if _, err := f.Files(); err != nil {
		return nil, err
	}
	return f, nil
}

// Path is the directory's absolute path.
func (f *Folder) Path() string { return f.path }

// MaxBytes is the bound of a file that is read.
func (f *Folder) MaxBytes() int64 { return f.opts.MaxBytes }

// Files returns the regular files, as slash-separated paths below the directory in lexical order.
// The error wraps ErrTooMany beyond the bound.
func (f *Folder) Files() ([]string, error) {
	files, err := f.scan(nil)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file.name
	}
	return names, nil
}

// Read returns the contents of a file by its slash-separated path below the directory. The error
// wraps fs.ErrNotExist for whatever is not there, hidden, outside or no regular file, and ErrTooLarge
// beyond the bound.
func (f *Folder) Read(name string) ([]byte, error) {
	if !visible(name) {
		return nil, missing(name)
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	local := filepath.FromSlash(name)
	if info, err := root.Stat(local); err != nil || !info.Mode().IsRegular() {
		return nil, missing(name)
	}
	// Without blocking: between the two calls the file may have become a pipe.
	file, err := root.OpenFile(local, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, err
	} else if err != nil {
		return nil, missing(name)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, missing(name)
	}
	if info.Size() > f.opts.MaxBytes {
		return nil, fmt.Errorf("%w: %q has %d bytes, above the bound of %d", ErrTooLarge, name, info.Size(), f.opts.MaxBytes)
	}
	data, err := io.ReadAll(io.LimitReader(file, f.opts.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > f.opts.MaxBytes {
		return nil, fmt.Errorf("%w: %q grew above the bound of %d bytes", ErrTooLarge, name, f.opts.MaxBytes)
	}
	return data, nil
}

func missing(name string) error {
	return &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// visible: a clean relative path without a hidden element.
func visible(name string) bool {
	if !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	return !strings.HasPrefix(name, ".") && !strings.Contains(name, "/.")
}

// entry is a file as a scan saw it.
type entry struct {
	name     string
	size     int64
	modified time.Time
}

// scan walks the directory; enter is called with each directory's path before it is read (nil: not).
func (f *Folder) scan(enter func(path string) error) ([]entry, error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var files []entry
	seen := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return f.forgive(name, err)
		}
		if seen++; seen > f.opts.MaxFiles+1 { // the directory itself is seen too
			return fmt.Errorf("%w: %s holds more than %d; raise the bound, or serve a smaller directory", ErrTooMany, f.path, f.opts.MaxFiles)
		}
		if name == "." {
			return call(enter, f.path)
		}
		switch {
		case d.IsDir() && (f.opts.Flat || !visible(name)):
			return fs.SkipDir
		case d.IsDir():
			return call(enter, filepath.Join(f.path, filepath.FromSlash(name)))
		case !visible(name):
			return nil
		}
		info, err := root.Stat(filepath.FromSlash(name)) // through links, inside only
		if err == nil && info.Mode().IsRegular() {
			files = append(files, entry{name: name, size: info.Size(), modified: info.ModTime()})
		}
		return nil
	})
	return files, err
}

// forgive passes over what disappeared or may not be read below the directory itself.
func (f *Folder) forgive(name string, err error) error {
	if name != "." && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return nil
	}
	return err
}

func call(enter func(string) error, path string) error {
	if enter == nil {
		return nil
	}
	return enter(path)
}
