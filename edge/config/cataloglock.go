package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
)

// CatalogLock compares each tool, as its backend lists it, with the definition in a snapshot. The zero value compares nothing.
type CatalogLock struct {
	// File is a file of mcpedge catalog snapshot, which is watched: a change is in force without a restart.
	File string `yaml:"file" also:"path,snapshot" names:"file"`
	// OnDifference is what follows from a tool that differs or is new: LockWarn or LockBlock; empty means LockWarn.
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

// readLock reads the file of the lock.
func (c *Config) readLock() (out IncludedFiles) {
	f := IncludedFile{Name: c.CatalogLock.File}
	text, err := readLockFile(f.Name)
	if f.Text = string(text); err != nil {
		f.Text, f.Err = "", withoutPath(err)
	}
	out.Files = []IncludedFile{f}
	return out
}

func readLockFile(name string) ([]byte, error) {
	// Without O_NONBLOCK, opening a named pipe waits for its writer.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // #nosec G304 -- the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxLockBytes+1))
	if len(text) > maxLockBytes {
		return nil, fmt.Errorf("it is larger than %s", Bytes(maxLockBytes))
	}
	return text, err
}

// takeLock puts what was read of the file of the lock in force. in is what readIncluded has returned. The other settings are valid.
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
