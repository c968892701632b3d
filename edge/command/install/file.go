package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// mostFile bounds the size of a host's file, in bytes.
const mostFile = 64 << 20

// hostFile is a host's configuration file. path is resolved: it is the target of symbolic links.
type hostFile struct {
	path   string
	mode   fs.FileMode
	exists bool
}

// read returns a file and its content. If the file does not exist, the content is empty.
func read(path string) (hostFile, []byte, error) {
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		path = real
	case isLink(path):
		return hostFile{}, nil, fmt.Errorf("it is a symbolic link that cannot be followed: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hostFile{path: path}, nil, nil
	case err != nil:
		return hostFile{}, nil, err
	case !info.Mode().IsRegular():
		return hostFile{}, nil, errors.New("it is not a regular file")
	case info.Mode().Perm()&0o200 == 0:
		return hostFile{}, nil, errors.New("it is read-only: make it writable for its owner, or add the entry where it is made")
	case info.Size() > mostFile:
		return hostFile{}, nil, fmt.Errorf("it has %d bytes; at most %d are read", info.Size(), mostFile)
	}
	text, err := os.ReadFile(path) // #nosec G304 -- the user of the command names the file
	return hostFile{path: path, mode: info.Mode().Perm(), exists: true}, text, err
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// replace writes the file atomically, and keeps its mode. Only its owner can read a new file,
// unless it belongs to a project. backup is the name of a copy of the previous content; empty for a
// new file. It returns an error if the file has changed since it was read, because running hosts
// write their files.
func (f hostFile) replace(before, after []byte, project bool, now time.Time) (backup string, err error) {
	dir := filepath.Dir(f.path)
	if f.exists {
		pattern := filepath.Base(f.path) + now.Format(".20060102-150405.*.bak")
		if backup, err = create(dir, pattern, before, f.mode); err != nil {
			return "", err
		}
	} else {
		f.mode = 0o600
		folders := fs.FileMode(0o700)
		if project {
			f.mode, folders = 0o644, 0o755
		}
		if err := os.MkdirAll(dir, folders); err != nil {
			return "", err
		}
	}
	fresh, err := create(dir, ".mcpedge-*", after, f.mode)
	if err != nil {
		return "", err
	}
	defer os.Remove(fresh)
	if _, now, err := read(f.path); err != nil {
		return "", err
	} else if !bytes.Equal(now, before) {
		return "", errors.New("it has changed meanwhile: stop the host, and try again")
	}
	return backup, os.Rename(fresh, f.path)
}

// create creates a file with a new name, by the pattern of os.CreateTemp, and returns its path.
func create(dir, pattern string, text []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}
