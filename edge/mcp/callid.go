package mcp

import (
	"encoding/base32"
	"encoding/binary"
	"math/rand/v2"
)

// NewCallID makes the id of a new call: 26 letters and digits from 128 random bits. It identifies
// calls but is not a secret: it never authorizes an action on a call.
func NewCallID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], rand.Uint64()) // #nosec G404 -- it is not a secret
	binary.BigEndian.PutUint64(b[8:], rand.Uint64()) // #nosec G404 -- it is not a secret
	return callIDs.EncodeToString(b[:])
}

var callIDs = base32.StdEncoding.WithPadding(base32.NoPadding)
