package translate

import (
	"strconv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// AppendResource appends a Resource of resources/list. On error dst is returned unchanged.
func AppendResource(dst []byte, r *revision.Rules, x *pb.Resource) ([]byte, error) {
	out, err := appendResourceMembers(append(dst, '{'), r, x)
	if err == nil {
		out, err = closeBlock(out, r, x.GetAnnotations(), x.GetMetaJson())
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// appendResourceMembers appends a resource's members except annotations and _meta, without braces.
func appendResourceMembers(dst []byte, r *revision.Rules, x *pb.Resource) ([]byte, error) {
	switch {
	case x.GetUri() == "":
		return dst, broken("uri", "empty; send an absolute URI")
	case x.GetName() == "":
		return dst, broken("name", "empty; send a name for %q", x.GetUri())
	case x.GetSize() < 0:
		return dst, broken("size", "%d is negative; send the size in bytes, or leave it out", x.GetSize())
	}
	dst = jsonrpc.AppendString(append(dst, `"uri":`...), x.GetUri())
	dst = jsonrpc.AppendString(append(dst, `,"name":`...), x.GetName())
	if r.Titles {
		dst = appendText(dst, `,"title":`, x.GetTitle())
	}
	dst = appendText(dst, `,"description":`, x.GetDescription())
	dst = appendText(dst, `,"mimeType":`, x.GetMimeType())
	if x.Size != nil {
		dst = strconv.AppendInt(append(dst, `,"size":`...), x.GetSize(), 10)
	}
	return appendIcons(dst, r, x.GetIcons())
}

// AppendTemplate appends a ResourceTemplate of resources/templates/list. On error dst is returned
// unchanged.
func AppendTemplate(dst []byte, r *revision.Rules, x *pb.ResourceTemplate) ([]byte, error) {
	switch {
	case x.GetUriTemplate() == "":
		return dst, broken("uri_template", "empty; send an RFC 6570 template")
	case x.GetName() == "":
		return dst, broken("name", "empty; send a name for %q", x.GetUriTemplate())
	}
	out := jsonrpc.AppendString(append(dst, `{"uriTemplate":`...), x.GetUriTemplate())
	out = jsonrpc.AppendString(append(out, `,"name":`...), x.GetName())
	if r.Titles {
		out = appendText(out, `,"title":`, x.GetTitle())
	}
	out = appendText(out, `,"description":`, x.GetDescription())
	out = appendText(out, `,"mimeType":`, x.GetMimeType())
	out, err := appendIcons(out, r, x.GetIcons())
	if err == nil {
		out, err = closeBlock(out, r, x.GetAnnotations(), x.GetMetaJson())
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// appendResourceContents appends the contents of a read or of an embedded resource.
func appendResourceContents(dst []byte, r *revision.Rules, x *pb.ResourceContents) ([]byte, error) {
	if x.GetUri() == "" {
		return dst, broken("uri", "empty; send an absolute URI")
	}
	dst = jsonrpc.AppendString(append(dst, `{"uri":`...), x.GetUri())
	dst = appendText(dst, `,"mimeType":`, x.GetMimeType())
	switch body := x.GetBody().(type) {
	case *pb.ResourceContents_Text:
		dst = jsonrpc.AppendString(append(dst, `,"text":`...), body.Text)
	case *pb.ResourceContents_Blob:
		dst = appendBase64(append(dst, `,"blob":`...), body.Blob)
	default:
		return dst, broken("body", "unset; set text or blob, which may be empty")
	}
	dst, err := appendObjectMeta(dst, r, x.GetMetaJson())
	return append(dst, '}'), err
}

// ReadResourceRequest returns the request of one round of resources/read. It aliases only strings
// of the call.
func ReadResourceRequest(call *mcp.Call) (*pb.ReadResourceRequest, error) {
	if !call.Params.HasTarget || call.Params.Target == "" {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "params.uri is missing or not a string: send the URI of a resource")
	}
	ctx, err := Context(call)
	if err != nil {
		return nil, err
	}
	return &pb.ReadResourceRequest{
		Uri: call.Params.Target, Context: ctx,
		InputResponses: inputResponses(call.Responses), State: call.State,
	}, nil
}

// ReadResult renders a ReadResourceResult (Server Features, "Resources", "Reading Resources").
// Empty contents are an error: an unknown URI is a failure.
func ReadResult(r *revision.Rules, s *Server, in mcp.Envelope, res *pb.ReadResourceResult) (mcp.Reply, error) {
	if len(res.GetContents()) == 0 {
		return mcp.Reply{}, broken("contents", "empty; send the contents, or the failure NOT_FOUND")
	}
	hint, err := Hint(res.GetCache())
	if err != nil {
		return mcp.Reply{}, err
	}
	n := 64 + len(res.GetMetaJson()) + len(s.tail[r.Index])
	for _, c := range res.GetContents() {
		n += 128 + len(c.GetUri()) + len(c.GetMetaJson()) + stringSize(c.GetText()) + len(c.GetBlob())*4/3
	}
	dst := append(in.Begin(n), `{"contents":`...)
	start := len(dst)
	for i, c := range res.GetContents() {
		if dst, err = appendResourceContents(append(dst, ','), r, c); err != nil {
			return mcp.Reply{}, withinNth("contents", i, err)
		}
	}
	dst = appendCache(closeArray(dst, start), r, hint)
	if dst, err = s.appendTail(dst, r, res.GetMetaJson()); err != nil {
		return mcp.Reply{}, err
	}
	return in.Reply(append(dst, '}')), nil
}
