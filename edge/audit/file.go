package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a sink of lines of JSON in a file. A file that was moved away, or removed, is opened anew before the next write:
// so logs are rotated.
type File struct {
	path, replica string
	file          *os.File
	info          os.FileInfo
	lines         lines
}

var _ Sink = (*File)(nil)

// mode is that of a file that the sink makes: records are nobody else's to read.
const mode = 0o600

// NewFile opens a file to append to, or makes it. The path's directory must exist. replica is in each line; empty: it is not.
func NewFile(path, replica string) (*File, error) {
	f := &File{path: path, replica: replica}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// CheckFile says why a file could not be appended to; nil: it can. Nothing is changed.
func CheckFile(path string) error {
	if err := regular(path); errors.Is(err, fs.ErrNotExist) {
		probe, err := os.CreateTemp(filepath.Dir(path), ".mcpedge-audit-*")
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the folder %s is not there: make it", filepath.Dir(path))
		}
		if err != nil {
			return fmt.Errorf("no file can be made in the folder %s: %w", filepath.Dir(path), errors.Unwrap(err))
		}
		return errors.Join(probe.Close(), os.Remove(probe.Name()))
	} else if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, mode) // #nosec G304 -- the operator names the file
	if err != nil {
		return err
	}
	return f.Close()
}

// regular refuses what a writer could wait for, such as a pipe that nobody reads.
func regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file: name one, or - for standard output", path)
	}
	return nil
}

func (f *File) open() error {
	if err := regular(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_RDWR, mode) // #nosec G304 -- the operator names the file
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.info, f.lines = file, info, lines{}
	return f.mend()
}

// mend ends a line that was cut, when its writer was killed or the disk was full: it must not swallow the next.
func (f *File) mend() error {
	if f.info.Size() == 0 {
		return nil
	}
	var last [1]byte
	if _, err := f.file.ReadAt(last[:], f.info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err := f.file.Write([]byte{'\n'})
	return err
}

// moved says whether the path names another file than the one that is open, or none.
func (f *File) moved() bool {
	now, err := os.Stat(f.path)
	return err != nil && errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, f.info)
}

// Write implements Sink.
func (f *File) Write(_ context.Context, records []Record) (int, error) {
	if f.file == nil || f.moved() {
		if f.file != nil {
			_ = f.file.Close()
			f.file = nil
		}
		if err := f.open(); err != nil {
			if f.file != nil {
				_ = f.file.Close()
				f.file = nil
			}
			return 0, err
		}
	}
	return f.lines.write(f.file, records, f.replica)
}

// Close implements Sink.
func (f *File) Close(context.Context) error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Lines is a sink of lines of JSON on a stream, which stays its owner's to close.
type Lines struct {
	out     io.Writer
	replica string
	lines   lines
}

var _ Sink = (*Lines)(nil)

// NewLines makes one. replica is in each line; empty: it is not.
func NewLines(out io.Writer, replica string) *Lines { return &Lines{out: out, replica: replica} }

// Write implements Sink.
func (l *Lines) Write(_ context.Context, records []Record) (int, error) {
	return l.lines.write(l.out, records, l.replica)
}

// Close implements Sink.
func (*Lines) Close(context.Context) error { return nil }

// lines writes records as lines. A line that was cut is gone on with.
type lines struct {
	buffer []byte
	ends   []int
	// begun is how much of the next record's line is written.
	begun int
}

// mostKept bounds the buffer that is kept between writes, in bytes.
const mostKept = 1 << 20

func (l *lines) write(out io.Writer, records []Record, replica string) (taken int, err error) {
	l.buffer, l.ends = l.buffer[:0], l.ends[:0]
	for i := range records {
		l.buffer = records[i].appendLine(l.buffer, replica)
		l.ends = append(l.ends, len(l.buffer))
	}
	n, err := out.Write(l.buffer[l.begun:])
	n += l.begun
	if err == nil && n < len(l.buffer) {
		err = io.ErrShortWrite
	}
	l.begun = n
	for _, end := range l.ends {
		if end > n {
			break
		}
		taken++
		l.begun = n - end
	}
	if cap(l.buffer) > mostKept {
		l.buffer = nil
	}
	return taken, err
}
