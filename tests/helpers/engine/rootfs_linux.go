package engine

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rootfs writes the files of an image as a tar archive. Its methods do nothing after the first
// error.
type rootfs struct {
	tar  *tar.Writer
	has  map[string]bool
	fail error
}

// write writes the files that fill adds.
func write(to io.Writer, fill func(*rootfs)) error {
	r := &rootfs{tar: tar.NewWriter(to), has: map[string]bool{}}
	fill(r)
	return errors.Join(r.fail, r.tar.Close())
}

func (r *rootfs) add(h *tar.Header, content io.Reader) {
	if r.fail != nil || r.has[h.Name] {
		return
	}
	r.has[h.Name] = true
	if r.fail = r.tar.WriteHeader(h); r.fail == nil && content != nil {
		_, r.fail = io.Copy(r.tar, content)
	}
}

func inTar(name string) string { return strings.TrimPrefix(name, "/") }

func (r *rootfs) dir(name string, mode int64) {
	r.add(&tar.Header{Typeflag: tar.TypeDir, Name: inTar(name) + "/", Mode: mode}, nil)
}

func (r *rootfs) text(name, content string) { r.write(name, content, 0o644) }

func (r *rootfs) script(name, content string) { r.write(name, content, 0o755) }

func (r *rootfs) write(name, content string, mode int64) {
	r.add(&tar.Header{Typeflag: tar.TypeReg, Name: inTar(name), Mode: mode, Size: int64(len(content))}, strings.NewReader(content))
}

// file copies a file of this machine. It follows links.
func (r *rootfs) file(from, name string) {
	if r.fail != nil {
		return
	}
	f, err := os.Open(from)
	if err != nil {
		r.fail = err
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		r.fail = err
		return
	}
	r.add(&tar.Header{Typeflag: tar.TypeReg, Name: inTar(name), Mode: int64(info.Mode().Perm()), Size: info.Size()}, f)
}

var library = regexp.MustCompile(`(/\S+) \(0x`)

// program copies a program of this machine and its shared libraries.
func (r *rootfs) program(program, name string) {
	if r.fail != nil {
		return
	}
	from, err := exec.LookPath(program)
	if err != nil {
		r.fail = err
		return
	}
	r.file(from, name)
	out, err := exec.Command("ldd", from).CombinedOutput()
	if err != nil {
		if !strings.Contains(string(out), "not a dynamic executable") {
			r.fail = fmt.Errorf("ldd %s: %w: %s", from, err, out)
		}
		return
	}
	for _, m := range library.FindAllStringSubmatch(string(out), -1) {
		r.file(m[1], m[1])
	}
}

// tree copies a directory of this machine, except the given names.
func (r *rootfs) tree(from, name string, without ...string) {
	if r.fail != nil {
		return
	}
	err := filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(from, file)
		if err != nil || relErr != nil {
			return errors.Join(err, relErr)
		}
		switch {
		case entry.IsDir() && slices.Contains(without, rel):
			return fs.SkipDir
		case entry.IsDir():
			r.dir(path.Join(name, rel), 0o755)
		case entry.Type().IsRegular():
			r.file(file, path.Join(name, rel))
		}
		return r.fail
	})
	r.fail = errors.Join(r.fail, err)
}
