package certs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Files are the PEM files of one TLS endpoint. Paths are relative to the process's working directory.
type Files struct {
	// Name is the setting of the endpoint, such as "tls" or "backends.crm.tls". Messages and metrics
	// contain it.
	Name string
	// Cert is the certificate of the endpoint, followed by its intermediates, and Key its private key.
	// Both or neither is set.
	Cert, Key string
	// CA is the file of the CAs that verify the peer. Source.Server and Source.Client say what empty
	// means.
	CA string
	// CAKey is the name of the setting of CA below Name, such as "client-ca". Empty means "ca".
	CAKey string
}

// These are the indexes of the files of an endpoint.
const (
	certFile = iota
	keyFile
	caFile
	fileCount
)

// maxFile bounds the size of a file. Bundles of public CAs have about 256 KiB.
const maxFile = 4 << 20

// paths returns the paths of the files by index. Empty means that the endpoint has no such file.
func (f Files) paths() [fileCount]string { return [fileCount]string{f.Cert, f.Key, f.CA} }

// setting returns the name of a file's setting.
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

// fileError returns an error about a file, with the fault and advice.
func (f Files) fileError(file int, format string, args ...any) error {
	return fmt.Errorf("%s: %s "+format, append([]any{f.setting(file), f.paths()[file]}, args...)...)
}

// content is the result of reading a file.
type content struct {
	data []byte
	// err is the error of reading it.
	err error
}

// contents are the results of reading the files of an endpoint.
type contents [fileCount]content

// read reads all files. An unreadable file has its error as content.
func (f Files) read() (c contents) {
	for file, path := range f.paths() {
		if path != "" {
			c[file].data, c[file].err = readFile(path)
		}
	}
	return c
}

// readFile reads a regular file. It rejects others, such as pipes, which cannot be read again.
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
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxFile)
	}
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// equal reports whether two reads had the same results.
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

// readable returns the error of the first unreadable file, or nil.
func (c contents) readable(f Files) error {
	for file := range c {
		if err := c[file].err; err != nil {
			var path *os.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			return f.fileError(file, "cannot be read: %w: give the path of a PEM file that the edge may read", err)
		}
	}
	return nil
}
