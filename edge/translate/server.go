package translate

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Server renders the edge's own description in results, once for each revision. It is immutable,
// and safe for concurrent use.
type Server struct {
	info []json.RawMessage // by Rules.Index
	tail [][]byte          // the end of a result without its own _meta
}

// NewServer renders an Implementation under every revision. Icons without a source are left out.
func NewServer(info *pb.Implementation) *Server {
	s := &Server{}
	for _, r := range revision.All() {
		object := appendImplementation(nil, r, info)
		s.info = append(s.info, object)
		var tail []byte
		if r.ResultType {
			tail = append(tail, `,"resultType":"complete","_meta":{"`+mcp.MetaServerInfo+`":`...)
			tail = append(append(tail, object...), '}')
		}
		s.tail = append(s.tail, tail)
	}
	return s
}

// Info returns the Implementation object under a revision. The caller must not change it.
func (s *Server) Info(r *revision.Rules) json.RawMessage { return s.info[r.Index] }

func appendImplementation(dst []byte, r *revision.Rules, info *pb.Implementation) []byte {
	dst = jsonrpc.AppendString(append(dst, `{"name":`...), info.GetName())
	dst = jsonrpc.AppendString(append(dst, `,"version":`...), info.GetVersion())
	if r.Titles {
		dst = appendText(dst, `,"title":`, info.GetTitle())
	}
	if r.Icons {
		dst = appendText(dst, `,"description":`, info.GetDescription())
		dst = appendText(dst, `,"websiteUrl":`, info.GetWebsiteUrl())
		var icons []*pb.Icon
		for _, icon := range info.GetIcons() {
			if iconFault(icon) == nil {
				icons = append(icons, icon)
			}
		}
		dst, _ = appendIcons(dst, r, icons)
	}
	return append(dst, '}')
}

// appendTail appends the members that every result has under the revision, merged with the
// backend's `_meta`. A backend cannot set the server's name.
func (s *Server) appendTail(dst []byte, r *revision.Rules, meta string) ([]byte, error) {
	if meta == "" {
		return append(dst, s.tail[r.Index]...), nil
	}
	if r.ResultType {
		dst = append(dst, `,"resultType":"complete"`...)
	}
	start := len(dst)
	dst = append(dst, `,"_meta":`...)
	open := len(dst)
	dst, err := appendMetaMembers(dst, meta, func(key []byte) bool {
		return string(key) == mcp.MetaServerInfo || !r.ResultType && isReserved(key)
	})
	if err != nil {
		return dst, err
	}
	if r.ResultType {
		dst = append(dst, `,"`+mcp.MetaServerInfo+`":`...)
		dst = append(dst, s.info[r.Index]...)
	}
	if len(dst) == open {
		return dst[:start], nil
	}
	return closeObject(dst, open), nil
}

// CacheHint states how long clients may cache a result.
type CacheHint struct {
	// TTL is how long it may be cached, in whole milliseconds. Less than one disables caching.
	TTL time.Duration
	// Public is true if callers may share the result.
	Public bool
}

// maxTTL bounds a backend's hint.
const maxTTL = 30 * 24 * time.Hour

// Hint converts a backend's hint. nil gives the zero CacheHint. A time below 0 or above 30 days is
// a contract error that names the field "cache".
func Hint(c *pb.CacheHint) (CacheHint, error) {
	hint := CacheHint{Public: c.GetScope() == pb.CacheScope_CACHE_SCOPE_PUBLIC}
	if c.GetTtl() == nil {
		return hint, nil
	}
	hint.TTL = c.Ttl.AsDuration()
	if !c.Ttl.IsValid() || hint.TTL < 0 || hint.TTL > maxTTL {
		return CacheHint{}, contractError("cache.ttl", "%v is out of range; send 0 s to 30 days", hint.TTL)
	}
	return hint, nil
}

// appendCache appends the members of a cacheable result (Server Features, "Caching").
func appendCache(dst []byte, r *revision.Rules, hint CacheHint) []byte {
	if !r.CacheHints {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), max(hint.TTL.Milliseconds(), 0), 10)
	if hint.Public {
		return append(dst, `,"cacheScope":"public"`...)
	}
	return append(dst, `,"cacheScope":"private"`...)
}

// AppendListTail appends what follows the array of a list result: the cursor unless it is empty,
// the cache hint, and the members of every result. It does not append the closing brace.
func AppendListTail(dst []byte, r *revision.Rules, s *Server, nextCursor string, hint CacheHint) []byte {
	dst = appendText(dst, `,"nextCursor":`, nextCursor)
	dst = appendCache(dst, r, hint)
	return append(dst, s.tail[r.Index]...)
}
