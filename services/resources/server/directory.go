package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/services/internal/folder"
)

// messageBytes is the maximum size of a file that fits into a gRPC message.
const messageBytes = 15 << 20

// directory serves the files of a folder as file:// resources. Its list does not depend on their
// contents, so changed contents are an update and do not change the list.
type directory struct {
	folder *folder.Folder
	prefix string // the directory's URI, ending in "/"
	log    *slog.Logger
}

var _ capability.ResourceWatcher = (*directory)(nil)

func addDirectory(s *capability.Server, o Options) error {
	if o.MaxBytes > messageBytes {
		return fmt.Errorf("a limit of %d bytes per file exceeds the %d that fit into a message; lower it", o.MaxBytes, messageBytes)
	}
	f, err := folder.New(o.Dir, folder.Options{MaxFiles: o.MaxFiles, MaxBytes: o.MaxBytes})
	if err != nil {
		return fmt.Errorf("directory %q cannot be served: %w", o.Dir, err)
	}
	d := &directory{folder: f, prefix: fileURI(f.Path()), log: o.Logger}
	if !strings.HasSuffix(d.prefix, "/") {
		d.prefix += "/"
	}
	s.Provide(d.prefix, d)
	return nil
}

// fileURI returns the file: URI of an absolute path.
func fileURI(absolute string) string {
	slashed := filepath.ToSlash(absolute)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

func (d *directory) uri(name string) string {
	return d.prefix + (&url.URL{Path: "/" + name}).EscapedPath()[1:]
}

// name returns the path below the directory of a URI, or "".
func (d *directory) name(uri string) string {
	escaped, ok := strings.CutPrefix(uri, d.prefix)
	if !ok || strings.ContainsAny(escaped, "?#\\") || strings.Contains(strings.ToLower(escaped), "%2f") {
		return ""
	}
	name, err := url.PathUnescape(escaped)
	if err != nil || strings.ContainsRune(name, 0) {
		return ""
	}
	return name
}

// List lists the files.
func (d *directory) List(context.Context) ([]*capability.Resource, error) {
	names, err := d.folder.Files()
	if err != nil {
		return nil, err
	}
	list := make([]*capability.Resource, len(names))
	for i, name := range names {
		list[i] = &capability.Resource{Uri: d.uri(name), Name: name, Title: path.Base(name), MimeType: folder.TypeByName(name)}
	}
	return list, nil
}

// Read reads one file.
func (d *directory) Read(_ context.Context, _ *capability.Call, uri string) ([]*capability.ResourceContents, error) {
	name := d.name(uri)
	data, err := d.folder.Read(name)
	if errors.Is(err, folder.ErrTooLarge) {
		return nil, capability.Errorf(capability.FailedPrecondition, "resource %.200q cannot be read: %w", uri, err)
	}
	if err != nil {
		return nil, err
	}
	mimeType := folder.TypeOf(name, data)
	if folder.IsText(data) && !binary(mimeType) {
		return []*capability.ResourceContents{capability.TextContents(uri, mimeType, string(data))}, nil
	}
	return []*capability.ResourceContents{capability.BlobContents(uri, mimeType, data)}, nil
}

// binary reports whether contents of a MIME type are binary, whatever their bytes.
func binary(mimeType string) bool {
	kind, subtype, _ := strings.Cut(mimeType, "/")
	switch kind {
	case "image":
		return subtype != "svg+xml"
	case "audio", "video":
		return true
	}
	switch mimeType {
	case "application/pdf", "application/zip", "application/gzip", "application/wasm", "application/octet-stream":
		return true
	}
	return false
}

// Watch reports files that are added, removed and changed.
func (d *directory) Watch(updated func(uri string), listChanged func()) (stop func(), err error) {
	return d.folder.Watch(d.log, func(c folder.Change) {
		if c.Listed {
			listChanged()
		}
		for _, name := range c.Updated {
			updated(d.uri(name))
		}
	})
}
