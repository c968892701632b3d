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

// ReadOutput is what the handler of a read may return. A string is text, a []byte is text when it is
// valid UTF-8 and the MIME type does not deny it, else binary; both under the URI that was read.
// Contents are the whole; where their URI or MIME type is empty it is filled in.
type ReadOutput interface {
	string | []byte | *ResourceContents | []*ResourceContents
}

type readHandler func(ctx context.Context, c *Call, uri string) ([]*ResourceContents, error)

type resource struct {
	listed *Resource // never written after registration
	read   readHandler
}

type template struct {
	listed     *ResourceTemplate // never written after registration
	parsed     *uris.Template
	read       readHandler
	completers map[string]Completer
}

// AddResource adds a resource, in place of one of the same URI. A URI that is spelled otherwise reads it, too, unless there is a resource
// of just that spelling. An error becomes a protocol error: a
// *Failure keeps its reason, a gRPC status its code, fs.ErrNotExist is NOT_FOUND, others are
// INTERNAL. The Resource is copied. AddResource panics when the name is missing, and when the URI is not
// absolute, has a control character or a percent sign that begins no escape, or is longer than 8 KiB: edges do not list it.
func AddResource[Out ReadOutput](s *Server, r *Resource,
	read func(ctx context.Context, c *Call, uri string) (Out, error)) {
	if err := uris.Check(r.GetUri()); err != nil || r.GetName() == "" {
		panic(fmt.Sprintf("capability: resource %q, name %q: an absolute URI and a name are required (%v)", r.GetUri(), r.GetName(), err))
	}
	listed := proto.CloneOf(r)
	s.resources.put(listed.GetUri(), &resource{listed: listed,
		read: func(ctx context.Context, c *Call, uri string) ([]*ResourceContents, error) {
			out, err := read(ctx, c, uri)
			return contentsOf(uri, listed.GetMimeType(), any(out), err)
		}})
}

// RemoveResource reports whether there was such a resource.
func (s *Server) RemoveResource(uri string) bool { return s.resources.remove(uri) }

// AddTemplate adds resources by an RFC 6570 template, in place of the same template. A URI that is
// no listed resource is read by the first template that matches it, by any spelling; vars are the template's
// variables, decoded, without those that the URI leaves out; the values of a list are separated by commas. Each value is the longest,
// from the left, with which the rest matches. A URI of more than 8 KiB matches none. Suggestions are for the template's variables. Errors
// are as in AddResource. The ResourceTemplate is copied. AddTemplate panics when the template does not parse, has more than 64
// variables or one of them twice, the name is missing or a suggestion is for an unknown variable.
func AddTemplate[Out ReadOutput](s *Server, t *ResourceTemplate,
	read func(ctx context.Context, c *Call, uri string, vars map[string]string) (Out, error), options ...CompleteOption) {
	parsed, err := uris.Parse(t.GetUriTemplate())
	if err != nil || t.GetUriTemplate() == "" || t.GetName() == "" {
		panic(fmt.Sprintf("capability: template %q, name %q: an RFC 6570 template and a name are required (%v)", t.GetUriTemplate(), t.GetName(), err))
	}
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

// RemoveTemplate reports whether there was such a template.
func (s *Server) RemoveTemplate(uriTemplate string) bool { return s.templates.remove(uriTemplate) }

// contentsOf is the answer to a read, complete.
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
	case errors.Is(err, fs.ErrNotExist):
		return notFound(uri)
	case errors.Is(err, fs.ErrPermission):
		return Errorf(PermissionDenied, "resource %s may not be read", quote(uri))
	}
	return err
}

func notFound(uri string) error {
	return Errorf(NotFound, "there is no resource %s", quote(uri))
}
