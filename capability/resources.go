package capability

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// ReadOutput is the result type of a read handler. A string is text. A []byte is text if it is
// valid UTF-8 and the MIME type is not a binary one, and binary otherwise. Both get the URI that
// was read. Contents are the complete result; an empty URI or MIME type is filled in.
type ReadOutput interface {
	string | []byte | *ResourceContents | []*ResourceContents
}

type readHandler func(ctx context.Context, c *Call, uri string) ([]*ResourceContents, error)

type resource struct {
	listed *Resource // immutable after registration
	read   readHandler
}

type template struct {
	listed     *ResourceTemplate // immutable after registration
	parsed     *uris.Template
	read       readHandler
	completers map[string]Completer
}

// AddResource adds a resource. It replaces a resource of the same URI. An equivalent URI in another
// spelling reads it too, unless a resource has exactly that spelling. An error of the handler
// becomes a protocol error: a *Failure keeps its reason, a gRPC status its code, fs.ErrNotExist and
// the official SDK's ResourceNotFoundError are NOT_FOUND, and others become INTERNAL. The Resource is copied.
//
// AddResource panics if the name is empty, or if edges would not list the URI: if it is not
// absolute, has a control character, has a percent sign that begins no escape, or is longer than 8
// KiB.
func AddResource[Out ReadOutput](s *Server, r *Resource,
	read func(ctx context.Context, c *Call, uri string) (Out, error)) {
	if err := uris.Check(r.GetUri()); err != nil || r.GetName() == "" {
		panic(fmt.Sprintf("capability: resource %q, name %q: an absolute URI and a name are required (%v)", r.GetUri(), r.GetName(), err))
	}
	mustHandle("resource", r.GetUri(), read == nil)
	listed := proto.CloneOf(r)
	s.resources.put(listed.GetUri(), &resource{listed: listed,
		read: func(ctx context.Context, c *Call, uri string) ([]*ResourceContents, error) {
			out, err := read(ctx, c, uri)
			return contentsOf(uri, listed.GetMimeType(), any(out), err)
		}})
}

// RemoveResource removes a resource and reports whether it existed.
func (s *Server) RemoveResource(uri string) bool { return s.resources.remove(uri) }

// AddTemplate adds resources by an RFC 6570 template. It replaces the same template. A URI that no
// listed resource has is read by the first template that matches it, in any spelling. A URI of more
// than 8 KiB matches no template.
//
// vars holds the template's variables, decoded, without those that the URI omits. The values of a
// list are separated by commas. From left to right, each value is the longest with which the rest
// matches. Suggestions apply to the template's variables. Errors are handled as in AddResource. The
// ResourceTemplate is copied.
//
// AddTemplate panics if the template does not parse, if it has more than 64 variables or a variable
// twice, if the name is empty, if read is nil, or if a suggestion is for an unknown variable.
func AddTemplate[Out ReadOutput](s *Server, t *ResourceTemplate,
	read func(ctx context.Context, c *Call, uri string, vars map[string]string) (Out, error), options ...CompleteOption) {
	parsed, err := uris.Parse(t.GetUriTemplate())
	if err != nil || t.GetUriTemplate() == "" || t.GetName() == "" {
		panic(fmt.Sprintf("capability: template %q, name %q: an RFC 6570 template and a name are required (%v)", t.GetUriTemplate(), t.GetName(), err))
	}
	mustHandle("template", t.GetUriTemplate(), read == nil)
	listed := proto.CloneOf(t)
	completers := completersOf(options)
	known := map[string]bool{}
	for _, v := range parsed.Variables() {
		known[v] = true
	}
	for variable := range completers {
		if !known[variable] {
			panic(fmt.Sprintf("capability: template %q has no variable %q to complete", t.GetUriTemplate(), variable))
		}
	}
	s.templates.put(listed.GetUriTemplate(), &template{listed: listed, parsed: parsed, completers: completers,
		read: func(ctx context.Context, c *Call, uri string) ([]*ResourceContents, error) {
			vars, _ := parsed.Match(uri)
			out, err := read(ctx, c, uri, vars)
			return contentsOf(uri, listed.GetMimeType(), any(out), err)
		}})
}

// RemoveTemplate removes a template and reports whether it existed.
func (s *Server) RemoveTemplate(uriTemplate string) bool { return s.templates.remove(uriTemplate) }

// contentsOf returns the contents of a read with empty fields filled in.
func contentsOf(uri, mimeType string, out any, err error) ([]*ResourceContents, error) {
	if err != nil {
		return nil, readError(uri, err)
	}
	var contents []*ResourceContents
	switch v := out.(type) {
	case string:
		return []*ResourceContents{TextContents(uri, mimeType, v)}, nil
	case []byte:
		return []*ResourceContents{bytesContents(uri, mimeType, v)}, nil
	case *mcpedgev1.ResourceContents:
		contents = []*ResourceContents{v}
	case []*mcpedgev1.ResourceContents:
		contents = v
	}
	filled := make([]*ResourceContents, len(contents))
	for i, c := range contents {
		if c.GetBody() == nil {
			return nil, Errorf(Internal, "the read of %s returned contents without a body", quote(uri))
		}
		if c.GetUri() == "" || c.GetMimeType() == "" {
			c = &ResourceContents{Uri: c.GetUri(), MimeType: c.GetMimeType(), Body: c.GetBody(), MetaJson: c.GetMetaJson()}
		}
		if c.Uri == "" {
			c.Uri = uri
		}
		if c.MimeType == "" {
			c.MimeType = mimeType
		}
		filled[i] = c
	}
	if len(filled) == 0 {
		return nil, notFound(uri)
	}
	return filled, nil
}

func bytesContents(uri, mimeType string, data []byte) *ResourceContents {
	if utf8.Valid(data) && !binaryType(mimeType) {
		return TextContents(uri, mimeType, string(data))
	}
	return BlobContents(uri, mimeType, data)
}

func readError(uri string, err error) error {
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return err
	case errors.Is(err, fs.ErrNotExist), isOfficialNotFound(err):
		return notFound(uri)
	case errors.Is(err, fs.ErrPermission):
		return Errorf(PermissionDenied, "resource %s may not be read", quote(uri))
	}
	return err
}

func notFound(uri string) error {
	return Errorf(NotFound, "there is no resource %s", quote(uri))
}
