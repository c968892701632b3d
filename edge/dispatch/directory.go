package dispatch

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// readDirectory runs resources/directory/read (Skills, "Reading Directories"). Children that belong
// to another backend, or that the caller may not read, are left out.
func (r *round) readDirectory(ctx context.Context) (mcp.Reply, error) {
	about, err := r.permittedContext(ctx)
	if err != nil {
		return mcp.Reply{}, err
	}
	found, owner := r.named.URI, r.named.Backend
	cursors := directoryCursors{backend: owner.Name(), uri: found.Sent, caller: r.call.Principal.Key(), set: r.call.Set}
	token, err := cursors.token(r.call)
	if err != nil {
		return mcp.Reply{}, err
	}
	ctx, end, err := r.begin(ctx, owner, found.Sent)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	if err := r.await(ctx, nil); err != nil {
		return mcp.Reply{}, err
	}
	out, err := owner.Resources().ListResourceDirectory(ctx,
		&pb.ListResourceDirectoryRequest{Uri: found.Sent, PageToken: token, Context: about})
	if err != nil {
		return mcp.Reply{}, r.unknownURI(ctx, err)
	}
	r.received(out)
	children, err := r.children(out)
	if err != nil {
		return mcp.Reply{}, err
	}
	others, err := r.d.catalog.Others(ctx, r.call.Principal, &r.named)
	if err != nil {
		return mcp.Reply{}, err
	}
	of := len(children)
	children = slices.DeleteFunc(children, func(c *pb.Resource) bool {
		return others.Own(c.GetUri()) || r.named.Hides(c.GetUri(), of) || !r.mayRead(c, of)
	})
	return r.finish(directoryResult{children, cursors.of(out.GetNextPageToken())})
}

// children returns the valid children of a directory, as the entries of a list are validated, and
// logs the others.
func (r *round) children(out *pb.ListResourceDirectoryResponse) ([]*pb.Resource, error) {
	valid, problems, err := backend.ValidChildren(out.GetResources())
	if err != nil {
		return nil, r.contractError("%v", err)
	}
	for _, problem := range problems {
		r.d.catalog.Broken(r.owner.Name(), r.call.Method, problem)
	}
	return valid, nil
}

// directoryCursors creates the cursors of one directory for one caller in one set. A cursor
// contains the backend's page token, which must not be used with another directory, caller or set.
type directoryCursors struct{ backend, uri, caller, set string }

// of returns the cursor for a page token. It is empty if there is no further page.
func (d directoryCursors) of(token string) string {
	if token == "" {
		return ""
	}
	return catalog.CursorText.EncodeToString(binary.BigEndian.AppendUint64([]byte(token), d.sum(token)))
}

// sum binds a token to the directory, the caller and the set.
func (d directoryCursors) sum(token string) uint64 {
	h := fnv.New64a()
	parts := []string{d.backend, d.uri, d.caller, token}
	if d.set != "" {
		parts = append(parts, d.set)
	}
	for _, part := range parts {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return h.Sum64()
}

// token returns the page token in the params' cursor. It is empty if there is no cursor.
func (d directoryCursors) token(call *mcp.Call) (string, error) {
	raw := call.Params.More().Cursor
	if len(raw) == 0 || jsonrpc.TypeOf(raw) == jsonrpc.Null {
		return "", nil
	}
	text, _ := jsonrpc.Unquote(raw)
	if b, err := catalog.CursorText.DecodeString(text); err == nil && len(b) > 8 {
		token := string(b[:len(b)-8])
		if binary.BigEndian.Uint64(b[len(b)-8:]) == d.sum(token) {
			return token, nil
		}
	}
	return "", mcp.Errorf(mcp.KindBadCursor, "cursor %.60s was not issued for this directory: read it again without a cursor", raw)
}

// mayRead reports whether a child is shown. of is the number of children of the directory.
func (r *round) mayRead(child *pb.Resource, of int) bool {
	decider := r.decider()
	if decider == nil {
		return true
	}
	method := mcp.MethodResourcesRead
	if child.GetMimeType() == catalog.DirectoryType {
		method = mcp.MethodDirectoryRead
	}
	target := r.named.Entry(method, child.GetUri(), of)
	return decider.May(&r.call.Principal, &target)
}
