package catalog

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// The members of a tool's `_meta` that name its page (MCP Apps, "Resource Discovery"). The flat one is deprecated.
const (
	metaApp     = "ui"
	metaPage    = "resourceUri"
	metaAppPage = "ui/resourceUri"
)

// pageScheme begins the URIs of pages.
const pageScheme = "ui://"

// pagesOf are the URIs of the pages that a tool's `_meta` names: by both members, since which of them counts is a client's choice.
func pagesOf(meta string) (uris []string) {
	if !strings.Contains(meta, metaPage) && !strings.Contains(meta, `\`) { // An escape may hide the name.
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

// withoutPage is a tool's `_meta` without its pages; what else is there stays, its visibility in particular.
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

// filterMembers appends an object anew: member appends a value, or returns nil for a member that is left out.
func filterMembers(dst, object []byte, member func(dst, key []byte, value json.RawMessage) []byte) []byte {
	dst = append(dst, '{')
	open := len(dst)
	// The object is valid: vet has judged it.
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

// strays are the tools that name a page which another backend answers for: clients would show the wrong one. A tool of a
// backend is told by the backend and its own name.
type strays map[[2]string]string

func (m *merge) strays(s *resourceSet) strays {
	var out strays
	for rank, p := range m.parts {
		for _, t := range p.Catalog.Tools {
			for _, uri := range pagesOf(t.GetMetaJson()) {
				holder, foreign := s.pageOwner(uri, rank)
				if !foreign {
					continue
				}
				owner := m.parts[holder].Backend
				if out == nil {
					out = make(strays)
				}
				out[[2]string{p.Backend.Name(), t.GetName()}] = uri
				m.conflicts = append(m.conflicts, Conflict{What: "page of a tool", Key: uri, Kept: owner.Name(), Dropped: p.Backend.Name()})
				break // The tool is shown without any.
			}
		}
	}
	return out
}

// pageOwner reports whether a page that a tool of a rank names belongs to another backend, and to which. A backend without
// resources has no page of its own, but may name one that nobody has.
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

// fold makes a digest of tools one of how they are shown, too: without their pages. No strays leave it as it is.
func (s strays) fold(digest uint64) uint64 {
	var sum uint64
	for tool, uri := range s {
		h := fnv.New64a()
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, digest))
		_, _ = h.Write([]byte(tool[0] + "\x00" + tool[1] + "\x00" + uri))
		sum ^= h.Sum64()
	}
	return digest ^ sum
}

// pageless is a tool as it is shown without its page.
func pageless(t *pb.Tool) *pb.Tool {
	out := proto.CloneOf(t)
	out.MetaJson = withoutPage(t.GetMetaJson())
	return out
}
