package certs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Files are the PEM files of one end of TLS. Paths are those of the process's working directory.
type Files struct {
	// Name is the setting that this end is configured by, such as "tls" or "backends.crm.tls": messages and metrics
	// name it.
	Name string
	// Cert is the certificate of this end, followed by its intermediates, and Key its private key. Both or none.
	Cert, Key string
	// CA verifies the peer; empty: see Source.Server and Source.Client.
	CA string
	// CAKey is the key of CA below Name, such as "client-ca"; empty: "ca".
	CAKey string
}

// The files of an end, as indices.
const (
	certFile = iota
	keyFile
	caFile
	fileCount
)

// maxFile bounds a file. Bundles of public CAs have a quarter of a MiB.
const maxFile = 4 << 20

// paths are the files by their index; empty: there is none.
func (f Files) paths() [fileCount]string { return [fileCount]string{f.Cert, f.Key, f.CA} }

// setting is the name of the setting of a file.
func (f Files) setting(file int) string {
	switch file {
	case certFile:
		return f.Name + ".cert"
	case keyFile:
		return f.Name + ".key"
	case caFile:
		if f.CAKey != "" {
			return f.Name + "." + f.CAKey
		}
	}
	return f.Name + ".ca"
}

// wrong is an error about a file: what is wrong with it, and what to do.
func (f Files) wrong(file int, format string, args ...any) error {
	return fmt.Errorf("%s: %s "+format, append([]any{f.setting(file), f.paths()[file]}, args...)...)
}

// content is what a file held when it was read.
type content struct {
	data []byte
	// err says why it could not be read.
	err error
}

// contents are what the files of an end held.
type contents [fileCount]content

// read reads all files. One that cannot be read has its error.
func (f Files) read() (c contents) {
	for file, path := range f.paths() {
		if path != "" {
			c[file].data, c[file].err = readFile(path)
		}
	}
	return c
}

// readFile reads a file that may be read again: a pipe is refused.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path) // #nosec G304 -- the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	switch info, err := file.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxFile)
	}
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// equal reports whether two readings came to the same.
func (c contents) equal(other contents) bool {
	for file := range c {
		if !bytes.Equal(c[file].data, other[file].data) || text(c[file].err) != text(other[file].err) {
			return false
		}
	}
	return true
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// readable returns why a file could not be read.
func (c contents) readable(f Files) error {
	for file := range c {
		if err := c[file].err; err != nil {
			var path *os.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			return f.wrong(file, "cannot be read: %w: give the path of a PEM file that the edge may read", err)
		}
	}
	return nil
}
