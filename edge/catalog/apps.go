package catalog

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// These members of a tool's `_meta` name its page (MCP Apps, "Resource Discovery"). The flat one is
// deprecated.
const (
	metaApp     = "ui"
	metaPage    = "resourceUri"
	metaAppPage = "ui/resourceUri"
)

// pageScheme is the URI scheme of pages.
const pageScheme = "ui://"

// pagesOf returns the page URIs in a tool's `_meta`. It reads both members, because clients differ
// in which one they use.
func pagesOf(meta string) (uris []string) {
	// An escape may hide the name.
	if !strings.Contains(meta, metaPage) && !strings.Contains(meta, `\`) {
		return nil
	}
	page := func(value json.RawMessage) {
		if uri, _ := jsonrpc.Unquote(value); uri != "" {
			uris = append(uris, uri)
		}
	}
	_ = jsonrpc.Members([]byte(meta), func(key []byte, value json.RawMessage) error {
		switch string(key) {
		case metaAppPage:
			page(value)
		case metaApp:
			if jsonrpc.TypeOf(value) != jsonrpc.Object {
				return nil
			}
			return jsonrpc.Members(value, func(key []byte, value json.RawMessage) error {
				if string(key) == metaPage {
					page(value)
				}
				return nil
			})
		}
		return nil
	})
	return uris
}

// withoutPage returns a tool's `_meta` without its page URIs. Other members, such as the
// visibility, are kept.
func withoutPage(meta string) string {
	out := filterMembers(nil, []byte(meta), func(dst, key []byte, value json.RawMessage) []byte {
		switch {
		case string(key) == metaAppPage:
			return nil
		case string(key) == metaApp && jsonrpc.TypeOf(value) == jsonrpc.Object:
			return filterMembers(dst, value, func(dst, key []byte, value json.RawMessage) []byte {
				if string(key) == metaPage {
					return nil
				}
				return append(dst, value...)
			})
		}
		return append(dst, value...)
	})
	return string(out)
}

// filterMembers appends a copy of object to dst. member appends the value of a key, or returns nil
// to omit the key.
func filterMembers(dst, object []byte, member func(dst, key []byte, value json.RawMessage) []byte) []byte {
	dst = append(dst, '{')
	open := len(dst)
	// Errors are ignored: vet has validated the object.
	_ = jsonrpc.Members(object, func(key []byte, value json.RawMessage) error {
		next := dst
		if len(next) > open {
			next = append(next, ',')
		}
		next = append(jsonrpc.AppendString(next, string(key)), ':')
		if next = member(next, key, value); next != nil {
			dst = next
		}
		return nil
	})
	return append(dst, '}')
}

// foreignPages maps tools to page URIs that another backend owns. Showing such a page would show the
// wrong backend's content. The key is the backend's name and the tool's own name.
type foreignPages map[[2]string]string

func (m *merge) foreignPages(s *resourceSet) foreignPages {
	var out foreignPages
	for rank, p := range m.parts {
		for _, t := range p.Catalog.Tools {
			for _, uri := range pagesOf(t.GetMetaJson()) {
				holder, foreign := s.pageOwner(uri, rank)
				if !foreign {
					continue
				}
				owner := m.parts[holder].Backend
				if out == nil {
					out = make(foreignPages)
				}
				out[[2]string{p.Backend.Name(), t.GetName()}] = uri
				m.conflicts = append(m.conflicts, Conflict{What: "page of a tool", Key: uri, Kept: owner.Name(), Dropped: p.Backend.Name()})
				break // The tool is shown without a page.
			}
		}
	}
	return out
}

// pageOwner returns the rank of the backend that owns a page named by a tool of the given rank.
// foreign is true if that is another backend. A backend without resources has no pages of its own,
// but may name one that no backend owns.
func (s *resourceSet) pageOwner(uri string, rank int) (holder int, foreign bool) {
	if holder, foreign = s.belongs(uri, rank); foreign {
		return holder, true
	}
	none := len(s.owners.parts)
	normal := uris.Normal(uri)
	allowed := s.owners.uris.Longest(normal)
	holder = s.owners.first(normal, none, allowed)
	if listed, ok := s.listedBy(uri); ok {
		holder = min(holder, listed)
	}
	return holder, holder != none && holder != rank
}

// ownedPage is the URI of a page, in normal form, at its backend.
type ownedPage struct {
	owner *backend.Backend
	uri   string
}

// pages returns the pages of the tools that are shown.
func (s *toolSet) pages() map[ownedPage]bool {
	out := map[ownedPage]bool{}
	for _, t := range s.ByName {
		for _, uri := range pagesOf(t.Shown.GetMetaJson()) {
			if normal := uris.Normal(uri); strings.HasPrefix(normal, pageScheme) {
				out[ownedPage{t.Owner, normal}] = true
			}
		}
	}
	return out
}

// fold mixes the tools without their pages into a digest of tools, because the pages are not shown. If
// there are none, it returns the digest unchanged.
func (s foreignPages) fold(digest uint64) uint64 {
	var sum uint64
	for tool, uri := range s {
		h := fnv.New64a()
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, digest))
		_, _ = h.Write([]byte(tool[0] + "\x00" + tool[1] + "\x00" + uri))
		sum ^= h.Sum64()
	}
	return digest ^ sum
}

// pageless returns a copy of a tool without its page.
func pageless(t *pb.Tool) *pb.Tool {
	out := proto.CloneOf(t)
	out.MetaJson = withoutPage(t.GetMetaJson())
	return out
}
