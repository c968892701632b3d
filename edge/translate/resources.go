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
		return dst, contractError("uri", "empty; send an absolute URI")
	case x.GetName() == "":
		return dst, contractError("name", "empty; send a name for %q", x.GetUri())
	case x.GetSize() < 0:
		return dst, contractError("size", "%d is negative; send the size in bytes, or leave it out", x.GetSize())
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
		return dst, contractError("uri_template", "empty; send an RFC 6570 template")
	case x.GetName() == "":
		return dst, contractError("name", "empty; send a name for %q", x.GetUriTemplate())
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
	if err := checkContents(x); err != nil {
		return dst, err
	}
	dst = jsonrpc.AppendString(append(dst, `{"uri":`...), x.GetUri())
	dst = appendText(dst, `,"mimeType":`, x.GetMimeType())
	switch body := x.GetBody().(type) {
	case *pb.ResourceContents_Text:
		dst = jsonrpc.AppendString(append(dst, `,"text":`...), body.Text)
	case *pb.ResourceContents_Blob:
		dst = appendBase64(append(dst, `,"blob":`...), body.Blob)
	}
	dst, err := appendObjectMeta(dst, r, x.GetMetaJson())
	return append(dst, '}'), err
}

// checkContents returns an error if contents lack a URI or a body.
func checkContents(x *pb.ResourceContents) error {
	switch {
	case x.GetUri() == "":
		return contractError("uri", "empty; send an absolute URI")
	case x.GetBody() == nil:
		return contractError("body", "unset; set text or blob, which may be empty")
	}
	return nil
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

// errNoContents is the error of a read without contents: an unknown URI is a failure.
func errNoContents() error {
	return contractError("contents", "empty; send the contents, or the failure NOT_FOUND")
}

// ReadResult renders a ReadResourceResult (Server Features, "Resources", "Reading Resources").
// Empty contents are an error.
func ReadResult(r *revision.Rules, s *Server, in mcp.Envelope, res *pb.ReadResourceResult) (mcp.Reply, error) {
	if len(res.GetContents()) == 0 {
		return mcp.Reply{}, errNoContents()
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
			return mcp.Reply{}, withElement("contents", i, err)
		}
	}
	dst = appendCache(closeArray(dst, start), r, hint)
	if dst, err = s.appendTail(dst, r, res.GetMetaJson()); err != nil {
		return mcp.Reply{}, err
	}
	return in.Reply(append(dst, '}')), nil
}

// ReadToolResult renders a ReadResourceResult as the result of a tool that reads a URI, for hosts that only have tools: a text becomes
// a text block, which all of them show, a blob an embedded resource. Contents of another URI follow a text block with that URI. It
// fails as ReadResult does.
func ReadToolResult(r *revision.Rules, s *Server, in mcp.Envelope, uri string, res *pb.ReadResourceResult) (mcp.Reply, error) {
	if len(res.GetContents()) == 0 {
		return mcp.Reply{}, errNoContents()
	}
	if _, err := Hint(res.GetCache()); err != nil {
		return mcp.Reply{}, err
	}
	out := &pb.CallToolResult{MetaJson: res.MetaJson, Content: make([]*pb.ContentBlock, 0, len(res.GetContents()))}
	text := func(s, meta string) {
		out.Content = append(out.Content, &pb.ContentBlock{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: s}}, MetaJson: meta})
	}
	for i, c := range res.GetContents() {
		if err := checkContents(c); err != nil {
			return mcp.Reply{}, withElement("contents", i, err)
		}
		if _, err := appendObjectMeta(nil, r, c.GetMetaJson()); err != nil {
			return mcp.Reply{}, withElement("contents", i, err)
		}
		body, isText := c.GetBody().(*pb.ResourceContents_Text)
		if isText && c.GetUri() != uri { // a blob has it
			text(c.GetUri(), "")
		}
		if isText {
			text(body.Text, c.GetMetaJson())
		} else {
			out.Content = append(out.Content, &pb.ContentBlock{Content: &pb.ContentBlock_Resource{Resource: c}})
		}
	}
	return ToolResult(r, s, in, out)
}
