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

// A cursor is a version, a hash of its caller, the id of the task after which the page begins, and a checksum. It grants no access: a list
// has the caller's own tasks only.
const cursorVersion = 1

var cursorText = base64.RawURLEncoding.Strict()

func cursorBehind(id string, who *mcp.Principal) string {
	b := append(ownerHash(who, []byte{cursorVersion}), id...)
	return cursorText.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func ownerHash(who *mcp.Principal, dst []byte) []byte {
	sum := sha256.Sum256([]byte("tasks/list\x00" + who.Key()))
	return append(dst, sum[:8]...)
}

// parseCursor reads the params' cursor member, that of a principal; empty without an error if there is none.
func parseCursor(raw json.RawMessage, who *mcp.Principal) (after string, err error) {
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
		if id := string(b[head : len(b)-sum]); cursorBehind(id, who) == text {
			return id, nil
		}
	}
	return "", mcp.Errorf(mcp.KindBadCursor, "cursor %.64q was not given out for tasks/list: list again without a cursor", text)
}
