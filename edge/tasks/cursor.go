package tasks

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A cursor consists of a version, a hash of its caller and set, the beginning of the id of the last
// task of the previous page, as far as that distinguishes it from the next one, and a checksum. It
// grants no access: a list has only the caller's own tasks, and an incomplete id names none. The last
// task may be one that the list does not show.
const cursorVersion = 1

var cursorText = base64.RawURLEncoding.Strict()

func cursorAfter(id, set string, who *mcp.Principal) string {
	of := "tasks/list\x00" + who.Key()
	if set != "" {
		of += "\x00set\x00" + set
	}
	sum := sha256.Sum256([]byte(of))
	b := append(append([]byte{cursorVersion}, sum[:8]...), id...)
	return cursorText.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// between returns the shortest beginning of an id that sorts after the next one, newest first.
func between(last, next string) string {
	n := 0
	for n < len(last) && n < len(next) && last[n] == next[n] {
		n++
	}
	return last[:min(n+1, len(last))]
}

// parseCursor parses the cursor in params. It must be of the principal and the set. It returns an
// empty text without an error if there is none.
func parseCursor(raw json.RawMessage, set string, who *mcp.Principal) (after string, err error) {
	if len(raw) == 0 || jsonrpc.TypeOf(raw) == jsonrpc.Null {
		return "", nil
	}
	text, ok := jsonrpc.Unquote(raw)
	if !ok {
		return "", mcp.Errorf(mcp.KindBadCursor, "cursor must be a string, not %s", jsonrpc.TypeOf(raw))
	}
	const head, sum = 1 + 8, 4
	b, err := cursorText.DecodeString(text)
	if err == nil && len(b) > head+sum && len(b) <= head+maxID+sum {
		if id := string(b[head : len(b)-sum]); cursorAfter(id, set, who) == text {
			return id, nil
		}
	}
	return "", mcp.Errorf(mcp.KindBadCursor, "cursor %.64q was not given out for tasks/list: list again without a cursor", text)
}
