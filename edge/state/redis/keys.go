package redis

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// buckets is the number of shards of the index of unfinished streams. All replicas use the same; an index of another layout is
// another one, since who does not find a stream takes it out.
const buckets = 64

// plain are the bytes that a hash tag and a replica's id may contain as they are.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~+=/"

// safe is an id as part of a key: itself, or when it has other bytes a text that no plain id equals.
func safe(id string) string {
	if strings.Trim(id, plain) == "" {
		return id
	}
	return "%" + hex.EncodeToString([]byte(id))
}

// idOf is the id of which safe made a text.
func idOf(tag string) string {
	if raw, ok := strings.CutPrefix(tag, "%"); ok {
		if id, err := hex.DecodeString(raw); err == nil {
			return string(id)
		}
	}
	return tag
}

// session is the key of a session's record; the names of its other keys begin with it.
func (r *Replica) session(id string) string { return r.tagged(safe(id)) }

// tagged is that key by the id as it stands in it.
func (r *Replica) tagged(tag string) string { return r.prefix + ":{" + tag + "}" }

// principal is the key of a principal's sessions.
func (r *Replica) principal(p mcp.Principal) string {
	sum := sha256.Sum256([]byte(p.Key()))
	return r.principalOf(hex.EncodeToString(sum[:16]))
}

// principalOf is that key by the hash in it.
func (r *Replica) principalOf(hash string) string { return r.prefix + ":p:{" + hash + "}" }

func (r *Replica) bucket(n int) string { return r.prefix + ":2b:{" + strconv.Itoa(n) + "}" }

func (r *Replica) bucketOf(session string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(session))
	return r.bucket(int(h.Sum32() % buckets))
}

func (r *Replica) heartbeat(replica string) string { return r.prefix + ":r:" + replica }

// leftMark says that a replica has left.
func (r *Replica) leftMark(replica string) string { return r.prefix + ":l:" + replica }

func (r *Replica) inboxOf(replica string) string { return r.prefix + ":i:" + replica }

// indexed is the member of a bucket that stands for an unfinished stream.
func indexed(session, stream string) string {
	return fmt.Sprintf("%d:%s%s", len(session), session, stream)
}

// unindexed reads what indexed wrote.
func unindexed(member string) (session, stream string, ok bool) {
	return cutCounted(member)
}

// cutCounted splits "<length>:<head><tail>".
func cutCounted(s string) (head, tail string, ok bool) {
	digits, rest, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n > len(rest) {
		return "", "", false
	}
	return rest[:n], rest[n:], true
}
