package catalog

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"hash/fnv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// cursor is a position in a list: after one entry of one backend. It is valid on every replica, and
// after a change of the list: the entry is found by its key or, if it was removed, by its former
// position.
type cursor struct {
	list  listKind
	owner string // backend name
	pos   int    // index among the owner's entries
	hash  uint64 // of the entry's key
	// entitlement is the entitlement hash of the caller who received the cursor, see visibleLists. 0 means
	// that the list is the same for all callers.
	entitlement uint64
}

// The versions of cursors. Only the second has an entitlement.
const (
	cursorVersion  = 1
	cursorEntitled = 2
)

var CursorText = base64.RawURLEncoding.Strict()

func (c cursor) String() string {
	b := make([]byte, 0, 32+len(c.owner))
	b = append(b, cursorVersion, byte(c.list))
	b = binary.AppendUvarint(b, uint64(c.pos)) // #nosec G115 -- an index is not negative
	b = binary.BigEndian.AppendUint64(b, c.hash)
	if c.entitlement != 0 {
		b[0] = cursorEntitled
		b = binary.BigEndian.AppendUint64(b, c.entitlement)
	}
	b = append(b, c.owner...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return CursorText.EncodeToString(b)
}

// parseCursor parses the cursor in params for a caller with an entitlement. It returns false
// without an error if there is none. null counts as absent, because some clients send it. An empty string is an invalid cursor.
func parseCursor(raw json.RawMessage, list listKind, entitlement uint64) (cursor, bool, error) {
	if len(raw) == 0 || jsonrpc.TypeOf(raw) == jsonrpc.Null {
		return cursor{}, false, nil
	}
	text, ok := jsonrpc.Unquote(raw)
	if !ok {
		return cursor{}, false, mcp.Errorf(mcp.KindBadCursor, "cursor must be a string, not %s", jsonrpc.TypeOf(raw))
	}
	c, ok := decodeCursor(text)
	if !ok || c.list != list || c.entitlement != entitlement {
		return cursor{}, false, mcp.Errorf(mcp.KindBadCursor,
			"cursor %q was not given out for %s: list again without a cursor", Clip(text), list)
	}
	return c, true, nil
}

// decodeCursor is the inverse of String and accepts no other text.
func decodeCursor(text string) (cursor, bool) {
	const tail = 8 + 4
	b, err := CursorText.DecodeString(text)
	if err != nil || len(b) < 2+1+tail || b[0] != cursorVersion && b[0] != cursorEntitled {
		return cursor{}, false
	}
	body, sum := b[:len(b)-4], b[len(b)-4:]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) {
		return cursor{}, false
	}
	pos, n := binary.Uvarint(body[2:])
	if n <= 0 || pos > 1<<31 || len(body) < 2+n+8 {
		return cursor{}, false
	}
	rest := body[2+n:]
	c := cursor{list: listKind(body[1]), pos: int(pos), hash: binary.BigEndian.Uint64(rest)}
	rest = rest[8:]
	if b[0] == cursorEntitled {
		if len(rest) < 8 {
			return cursor{}, false
		}
		c.entitlement, rest = binary.BigEndian.Uint64(rest), rest[8:]
	}
	c.owner = string(rest)
	return c, c.String() == text
}

// keyHash is the hash of an entry's key. It is equal on every replica.
func keyHash(key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return h.Sum64()
}

// after returns the index of the first entry after a cursor. It returns false if the cursor's
// backend is not configured.
func (l *list) after(c cursor) (int, bool) {
	s, ok := l.spans[c.owner]
	if !ok {
		return 0, false
	}
	at := min(s.from+c.pos, s.to)
	if at < s.to && l.Entries[at].hash == c.hash {
		return at + 1, true
	}
	for i := s.from; i < s.to; i++ {
		if l.Entries[i].hash == c.hash {
			return i + 1, true
		}
	}
	return at, true
}

// cursorAt returns the cursor after an entry, for callers with an entitlement.
func (l *list) cursorAt(i int, entitlement uint64) cursor {
	e := l.Entries[i]
	return cursor{list: l.kind, owner: e.owner, pos: i - l.spans[e.owner].from, hash: e.hash, entitlement: entitlement}
}
