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

// File is a Sink that appends lines of JSON to a file. For log rotation, it reopens the path before
// a write if the file was moved or removed. It holds an exclusive advisory lock on the open file,
// except on Windows and on file systems without locks.
type File struct {
	path, replica string
	file          *os.File
	info          os.FileInfo
	lines         lines
}

var _ Sink = (*File)(nil)

// mode is the mode of created files: readable by their owner alone.
const mode = 0o600

// NewFile opens or creates a file for appending. The directory of path must exist. replica is the
// name of this replica in each line; empty omits it. It returns an error if another File, of this
// process or another one, holds the lock.
func NewFile(path, replica string) (*File, error) {
	f := &File{path: path, replica: replica}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// CheckFile returns an error if NewFile would fail. It changes nothing. It does not check the lock,
// which a running edge may hold.
func CheckFile(path string) error {
	if err := regular(path); errors.Is(err, fs.ErrNotExist) {
		probe, err := os.CreateTemp(filepath.Dir(path), ".mcpedge-audit-*")
		if errors.Is(err, fs.ErrNotExist) {
			return noFolder(path)
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

// noFolder returns the error for a file whose folder is missing. It wraps fs.ErrNotExist.
func noFolder(path string) error { return missingFolder(filepath.Dir(path)) }

type missingFolder string

func (f missingFolder) Error() string { return "the folder " + string(f) + " is not there: make it" }

func (f missingFolder) Is(target error) bool { return target == fs.ErrNotExist }

// regular returns an error if path is not a regular file: writes to others, such as a pipe without
// a reader, may block.
func regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: name one, or - for standard output", path)
	}
	return nil
}

func (f *File) open() error {
	if err := regular(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_RDWR, mode) // #nosec G304 -- the operator names the file
	if errors.Is(err, fs.ErrNotExist) {
		return noFolder(f.path)
	}
	if err != nil {
		return err
	}
	if held := lock(file); held {
		return errors.Join(fmt.Errorf("another process writes %s: give each replica a file of its own, with {replica} in audit.file, and another --replica", f.path), file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.info, f.lines = file, info, lines{}
	return f.endLastLine()
}

// endLastLine ends an incomplete last line, which remains if its writer was killed or the disk was full.
func (f *File) endLastLine() error {
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

// moved reports whether path no longer names the open file.
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

// Lines is a Sink that writes lines of JSON to a stream. It does not close the stream.
type Lines struct {
	out     io.Writer
	replica string
	lines   lines
}

var _ Sink = (*Lines)(nil)

// NewLines returns a Lines. replica is the name of this replica in each line; empty omits it.
func NewLines(out io.Writer, replica string) *Lines { return &Lines{out: out, replica: replica} }

// Write implements Sink.
func (l *Lines) Write(_ context.Context, records []Record) (int, error) {
	return l.lines.write(l.out, records, l.replica)
}

// Close implements Sink.
func (*Lines) Close(context.Context) error { return nil }

// lines writes records as lines. After a partial write, it continues within the line.
type lines struct {
	buffer []byte
	ends   []int
	// begun is the number of bytes of the next record's line that were written.
	begun int
}

// maxBuffer bounds the buffer retained between writes, in bytes.
const maxBuffer = 1 << 20

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
	if cap(l.buffer) > maxBuffer {
		l.buffer = nil
	}
	return taken, err
}
