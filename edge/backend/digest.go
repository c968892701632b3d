package backend

import (
	"encoding/binary"
	"hash/fnv"

	"google.golang.org/protobuf/proto"
)

// DigestOf hashes entries in their order, FNV-1a over the deterministic encoding of each, preceded
// by its length. It is never 0, which means that a service is not served.
func DigestOf[T proto.Message](entries []T) uint64 {
	h := fnv.New64a()
	opts := proto.MarshalOptions{Deterministic: true}
	var buf []byte
	for _, e := range entries {
		buf = append(buf[:0], 0, 0, 0, 0, 0, 0, 0, 0)
		// The only errors are invalid UTF-8 and missing required fields, which a decoded proto3
		// message cannot have.
		buf, _ = opts.MarshalAppend(buf, e)
		binary.LittleEndian.PutUint64(buf, uint64(len(buf)-8)) // #nosec G115 -- it begins with 8 bytes
		_, _ = h.Write(buf)
	}
	return max(h.Sum64(), 1)
}
