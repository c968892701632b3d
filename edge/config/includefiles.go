package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Included has the files of every Include as they were read, in their order, followed by that of
// CatalogLock, if there is one.
type Included []IncludedFiles

// IncludedFiles has the files of one Include as they were read.
type IncludedFiles struct {
	// Err is why directories cannot be read, or which matches are left out; empty: none.
	Err string
	// Files are sorted by name.
	Files []IncludedFile
}

// IncludedFile is the content of a file, or why it cannot be read.
type IncludedFile struct {
	Name, Text, Err string
	// sum is sumOf the text; empty means that it was not computed.
	sum string
}

// sumOf returns a digest of a text.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return string(sum[:])
}

const (
	// maxIncludedFile bounds a file in bytes, and maxIncludedFiles and maxIncludedBytes the files of one
	// Include.
	maxIncludedFile, maxIncludedFiles, maxIncludedBytes = 256 << 10, 100, 1 << 20
	// maxIncludedEntries and maxIncludedRules bound the entries and the rules in the files of one
	// Include.
	maxIncludedEntries, maxIncludedRules = 2000, 100
)

// Digest returns a digest that is equal for equal contents.
func (in Included) Digest() string {
	if len(in) == 0 {
		return ""
	}
	h := sha256.New()
	for _, one := range in {
		_, _ = fmt.Fprintf(h, "%q\n", one.Err)
		for _, f := range one.Files {
			sum := f.sum
			if sum == "" {
				sum = sumOf([]byte(f.Text))
			}
			_, _ = fmt.Fprintf(h, "%q %q %x\n", f.Name, f.Err, sum)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// readIncluded reads the files of every Include, and that of CatalogLock. last is the last reading
// of the latter.
func (c *Config) readIncluded(last *lockReading) (out Included) {
	for i := range c.Include {
		out = append(out, readFiles(filepath.Dir(c.File), c.Include[i].File))
	}
	if c.locks() {
		out = append(out, IncludedFiles{Files: []IncludedFile{last.read(c.CatalogLock.File)}})
	}
	return out
}

// readFiles reads the files that match a pattern relative to a directory.
func readFiles(dir, pattern string) (out IncludedFiles) {
	base, elements := splitPattern(dir, pattern)
	names, errs := matches(base, elements)
	if len(names) > maxIncludedFiles {
		errs = append(errs, fmt.Errorf("%q matches %d files: have at most %d", pattern, len(names), maxIncludedFiles))
		names = names[:maxIncludedFiles]
	}
	size := 0
	for _, name := range names {
		f := IncludedFile{Name: name}
		if size > maxIncludedBytes {
			f.Err = fmt.Sprintf("it and those before it are larger than %s together", Bytes(maxIncludedBytes))
			out.Files = append(out.Files, f)
			continue
		}
		text, err := readIncludedFile(base, name)
		if err != nil {
			f.Err = withoutPath(err)
		}
		if err == nil {
			f.Text = string(text)
		}
		size += len(text)
		out.Files = append(out.Files, f)
	}
	if err := errors.Join(errs...); err != nil {
		out.Err = err.Error()
	}
	return out
}

// splitPattern returns the directory of a pattern up to its first element that has one, and the rest
// of its elements, at least one.
func splitPattern(dir, pattern string) (base string, elements []string) {
	elements = strings.Split(path.Clean(filepath.ToSlash(pattern)), "/")
	if base = dir; elements[0] == "" {
		base = "/"
	}
	for len(elements) > 1 && !hasMeta(elements[0]) {
		base, elements = filepath.Join(base, elements[0]), elements[1:]
	}
	return base, elements
}

// matches returns the sorted files below a directory that match the elements of a pattern. A missing
// directory has none.
func matches(dir string, elements []string) (names []string, errs []error) {
	if !hasMeta(elements[0]) {
		name := filepath.Join(dir, elements[0])
		if len(elements) > 1 {
			return matches(name, elements[1:])
		}
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return []string{name}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, []error{fmt.Errorf("%s: %s", dir, withoutPath(err))}
	}
	for _, e := range entries {
		if is, _ := path.Match(elements[0], e.Name()); !is || isLeftover(e.Name()) {
			continue
		}
		name := filepath.Join(dir, e.Name())
		switch info, err := os.Stat(name); {
		case len(elements) == 1 && (err != nil || !info.IsDir()):
			names = append(names, name)
		case len(elements) > 1 && err == nil && info.IsDir():
			more, failed := matches(name, elements[1:])
			names, errs = append(names, more...), append(errs, failed...)
		}
	}
	slices.Sort(names)
	return names, errs
}

// isLeftover reports whether a file or directory is hidden, such as ..data of a ConfigMap, or made by
// an editor beside the file that it changes.
func isLeftover(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "~") ||
		slices.Contains([]string{".swp", ".swo", ".swx", ".tmp", ".bak", ".orig"}, path.Ext(name))
}

// readIncludedFile reads a file below a directory. Relative symbolic links may lead elsewhere in the
// directory; others are errors.
func readIncludedFile(base, name string) ([]byte, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	within, err := filepath.Rel(base, name)
	if err != nil {
		return nil, err
	}
	// Without O_NONBLOCK, opening a named pipe waits for its writer.
	f, err := root.OpenFile(within, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxIncludedFile+1))
	if len(text) > maxIncludedFile {
		return nil, fmt.Errorf("it is larger than %s", Bytes(maxIncludedFile))
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

// withoutPath returns the text of an error of a file without its name.
func withoutPath(err error) string {
	var failed *os.PathError
	if errors.As(err, &failed) {
		return failed.Err.Error()
	}
	return err.Error()
}
