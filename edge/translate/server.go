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

// Server is what the edge says of itself in results, rendered once for each revision. It does not
// change, and is safe for concurrent use.
type Server struct {
	info []json.RawMessage // by Rules.Index
	tail [][]byte          // what ends a result without a _meta of its own
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

// Info is the Implementation object under a revision. It must not be changed.
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

// appendTail appends the members that every result has under the revision, with the backend's own
// `_meta` merged in. The server's name is the edge's to say.
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

// CacheHint is what clients are told about keeping an answer.
type CacheHint struct {
	// TTL is how long it may be kept, in whole milliseconds; less than one: not at all.
	TTL time.Duration
	// Public answers may be shared between callers.
	Public bool
}

// maxTTL bounds a backend's hint.
const maxTTL = 30 * 24 * time.Hour

// Hint reads a backend's hint; nil gives the zero CacheHint. A time below 0 or above 30 days is a
// contract error that names the field "cache".
func Hint(c *pb.CacheHint) (CacheHint, error) {
	hint := CacheHint{Public: c.GetScope() == pb.CacheScope_CACHE_SCOPE_PUBLIC}
	if c.GetTtl() == nil {
		return hint, nil
	}
	hint.TTL = c.Ttl.AsDuration()
	if !c.Ttl.IsValid() || hint.TTL < 0 || hint.TTL > maxTTL {
		return CacheHint{}, broken("cache.ttl", "%v is out of range; send 0 s to 30 days", hint.TTL)
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

// AppendListTail appends what follows the array of a list result: the cursor unless it is empty, the
// cache hint, and what every result has; not the closing brace.
func AppendListTail(dst []byte, r *revision.Rules, s *Server, nextCursor string, hint CacheHint) []byte {
	dst = appendText(dst, `,"nextCursor":`, nextCursor)
	dst = appendCache(dst, r, hint)
	return append(dst, s.tail[r.Index]...)
}
