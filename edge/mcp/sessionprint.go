package mcp

import (
	"crypto/sha256"
	"encoding/hex"
)

// SessionPrint identifies a session in spans, logs and texts of errors: the first 64 bits of its id's
// SHA-256, in hexadecimal. The id itself gives an anonymous caller access to the session, or to the
// task whose session it is. It is empty for an empty id.
func SessionPrint(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return string(hex.AppendEncode(make([]byte, 0, 16), sum[:8]))
}
