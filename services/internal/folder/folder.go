// Package folder serves the files of one directory safely: confined to it, within limits, and with
// notifications of changes. It ignores hidden files and directories (with a leading dot). It
// follows a symbolic link only to a file inside the directory.
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
	// ErrTooMany means that the directory has more entries than the limit.
	ErrTooMany = errors.New("too many files")
	// ErrTooLarge means that the file exceeds the limit.
	ErrTooLarge = errors.New("file too large")
)

// Options are the limits of a Folder.
type Options struct {
	// Flat excludes subdirectories.
	Flat bool
	// MaxFiles is the maximum number of files and directories. 0 means 10,000.
	MaxFiles int
	// MaxBytes is the maximum size of a file that is read. 0 means 10 MiB.
	MaxBytes int64
	// Debounce is how long changes are collected before they are reported. 0 means 100 ms.
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

// Folder is one directory. It keeps nothing open. It is safe for concurrent use.
type Folder struct {
	path string
	opts Options
}

// New returns the folder at path, which must be a readable directory within the limits.
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

// Path returns the directory's absolute path.
func (f *Folder) Path() string { return f.path }

// MaxBytes returns the maximum size of a file that is read.
func (f *Folder) MaxBytes() int64 { return f.opts.MaxBytes }

// Files returns the regular files, as slash-separated paths below the directory in lexical order.
// The error wraps ErrTooMany if there are too many.
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
// wraps fs.ErrNotExist if the file is absent, hidden, outside the directory or not a regular file,
// and ErrTooLarge if it exceeds the limit.
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
	// O_NONBLOCK: the file may have been replaced by a pipe between the two calls.
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
		return nil, fmt.Errorf("%w: %q has %d bytes, above the limit of %d", ErrTooLarge, name, info.Size(), f.opts.MaxBytes)
	}
	data, err := io.ReadAll(io.LimitReader(file, f.opts.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > f.opts.MaxBytes {
		return nil, fmt.Errorf("%w: %q grew above the limit of %d bytes", ErrTooLarge, name, f.opts.MaxBytes)
	}
	return data, nil
}

func missing(name string) error {
	return &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// visible reports whether name is a clean relative path without a hidden element.
func visible(name string) bool {
	if !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	return !strings.HasPrefix(name, ".") && !strings.Contains(name, "/.")
}

// entry is the state of a file in a scan.
type entry struct {
	name     string
	size     int64
	modified time.Time
}

// scan walks the directory. It calls enter, unless nil, with each directory's path before reading
// it.
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
			return f.ignoreUnreadable(name, err)
		}
		if seen++; seen > f.opts.MaxFiles+1 { // the directory itself counts too
			return fmt.Errorf("%w: %s holds more than %d; raise the limit, or serve a smaller directory", ErrTooMany, f.path, f.opts.MaxFiles)
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
		info, err := root.Stat(filepath.FromSlash(name)) // follows links inside the directory only
		if err == nil && info.Mode().IsRegular() {
			files = append(files, entry{name: name, size: info.Size(), modified: info.ModTime()})
		}
		return nil
	})
	return files, err
}

// ignoreUnreadable ignores entries below the directory that have disappeared or are not readable.
func (f *Folder) ignoreUnreadable(name string, err error) error {
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
