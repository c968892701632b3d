package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
)

// CatalogLock compares each tool, as its backend lists it, with the definition in a snapshot. The zero value compares nothing.
type CatalogLock struct {
	// File is a file of mcpedge catalog snapshot. It is watched: a change takes effect without a
	// restart.
	File string `yaml:"file" also:"path,snapshot" names:"file"`
	// OnDifference is the effect on a tool that differs or is new: LockWarn or LockBlock. Empty
	// means LockWarn.
	OnDifference string `yaml:"on-difference" also:"mode,action,then,on-failure"`
}

// The values of CatalogLock.OnDifference.
const (
	// LockWarn shows the tool, and reports the difference.
	LockWarn = "warn"
	// LockBlock also hides the tool until the lock has its definition.
	LockBlock = "block"
)

// maxLockBytes bounds the file of a lock.
const maxLockBytes = 16 << 20

// locks reports whether there is a lock.
func (c *Config) locks() bool { return c.CatalogLock != nil && c.CatalogLock.File != "" }

// validateLock returns the errors of CatalogLock. Those of its file are not among them.
func (c *Config) validateLock() (errs []error) {
	l := c.CatalogLock
	if l == nil {
		return nil
	}
	if l.File == "" && l.OnDifference != "" {
		errs = append(errs, errors.New("catalog-lock: file: it is missing: name a file of mcpedge catalog snapshot"))
	}
	if l.OnDifference != "" && l.OnDifference != LockWarn && l.OnDifference != LockBlock {
		errs = append(errs, fmt.Errorf("catalog-lock: on-difference: %q: use warn or block", l.OnDifference))
	}
	return errs
}

// lockReading is the last reading of a lock's file, so that an unchanged file is not read again.
// The zero value has none.
type lockReading struct {
	file IncludedFile
	// info describes the file that was read. nil means that the file could not be read, or may have
	// changed since without a different info.
	info os.FileInfo
	at   time.Time
}

const (
	// lockSettled is the age at which a change of a file has another time than a later one has.
	lockSettled = 5 * time.Second
	// lockAgain is the interval at which a file is read even if it does not seem to have changed,
	// because a program may restore its time.
	lockAgain = time.Minute
)

// read returns the file of the lock with a name. It returns the last reading if the path leads to
// the same file, with the same size and time of change.
func (l *lockReading) read(name string) IncludedFile {
	text, info, err := l.readAgain(name)
	switch {
	case err != nil:
		l.file, l.info = IncludedFile{Name: name, Err: withoutPath(err)}, nil
	case text != nil:
		l.file, l.info, l.at = IncludedFile{Name: name, Text: string(text), sum: sumOf(text)}, info, time.Now()
	}
	return l.file
}

// readAgain returns the content of a file with a name, or nil if it is the file that was read last.
// info is nil if the file may still change without a different info.
func (l *lockReading) readAgain(name string) (text []byte, info os.FileInfo, err error) {
	// Without O_NONBLOCK, opening a named pipe waits for its writer.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // #nosec G304 -- the operator names the file
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	now := time.Now()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is not a regular file")
	}
	if l.file.Name == name && now.Sub(l.at) < lockAgain && sameContent(l.info, info) {
		return nil, nil, nil
	}
	if text, err = io.ReadAll(io.LimitReader(f, maxLockBytes+1)); err != nil {
		return nil, nil, err
	}
	if len(text) > maxLockBytes {
		return nil, nil, fmt.Errorf("it is larger than %s", Bytes(maxLockBytes))
	}
	if after, err := f.Stat(); err != nil || !sameContent(info, after) || now.Sub(info.ModTime()) < lockSettled {
		info = nil
	}
	return text, info, nil
}

// sameContent reports whether two readings of a path found the same, unchanged file. a may be nil,
// which means that there is none.
func sameContent(a, b os.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// takeLock puts the content of the lock's file in force. in is the result of readIncluded. The
// other settings must be valid.
func (c *Config) takeLock(in Included) error {
	c.lock = nil
	if !c.locks() {
		return nil
	}
	wrong := func(err any) error {
		return fmt.Errorf("catalog-lock: file: %s: %v", c.CatalogLock.File, err)
	}
	if len(in) <= len(c.Include) || len(in[len(c.Include)].Files) != 1 {
		return wrong("it was not read")
	}
	f := in[len(c.Include)].Files[0]
	if f.Err != "" {
		return wrong(f.Err + ": make the file with mcpedge catalog snapshot")
	}
	s, err := snapshot.Read(strings.NewReader(f.Text))
	if err != nil {
		return wrong(err)
	}
	if c.lock, err = s.Lock(c.CatalogLock.blocks()); err != nil {
		return wrong(err)
	}
	return nil
}

func (l *CatalogLock) blocks() bool { return l.OnDifference == LockBlock }

// lockInForce returns the lock, or nil. A lock whose file was not read has no definitions.
func (c *Config) lockInForce() *lock.Lock {
	if c.locks() && c.lock == nil {
		return lock.New(nil, c.CatalogLock.blocks())
	}
	return c.lock
}
