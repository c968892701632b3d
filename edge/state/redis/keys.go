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

// buckets is the number of shards of the index of unfinished streams. All replicas must use the
// same number, because a replica that does not find a stream removes its entry; an index of another
// layout needs another key.
const buckets = 64

// plainBytes are the bytes that a hash tag and a replica's id may contain unescaped.
const plainBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~+=/"

// escapeID returns an id as part of a key: itself or, if it has other bytes, a text that no plain id
// equals.
func escapeID(id string) string {
	if strings.Trim(id, plainBytes) == "" {
		return id
	}
	return "%" + hex.EncodeToString([]byte(id))
}

// idOf returns the id that safe converted.
func idOf(tag string) string {
	if raw, ok := strings.CutPrefix(tag, "%"); ok {
		if id, err := hex.DecodeString(raw); err == nil {
			return string(id)
		}
	}
	return tag
}

// session returns the key of a session's record, with which the session's other keys begin.
func (r *Replica) session(id string) string { return r.tagged(escapeID(id)) }

// tagged returns that key for an id as returned by escapeID.
func (r *Replica) tagged(tag string) string { return r.prefix + ":{" + tag + "}" }

// sessionOf returns the id of the session with a key. ok is false if the key is not that of a
// session.
func (r *Replica) sessionOf(key string) (id string, ok bool) {
	tag, ok := strings.CutPrefix(key, r.prefix+":{")
	if !ok {
		return "", false
	}
	tag, ok = strings.CutSuffix(tag, "}")
	return idOf(tag), ok
}

// principal returns the key of a principal's sessions.
func (r *Replica) principal(p mcp.Principal) string {
	return r.principalOf(hexDigest(p.Key()))
}

// hexDigest returns the digest of a name in a key, so that the name cannot be read from the key.
func hexDigest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// principalOf returns that key for the hash in it.
func (r *Replica) principalOf(hash string) string { return r.prefix + ":p:{" + hash + "}" }

func (r *Replica) bucket(n int) string { return r.prefix + ":b:{" + strconv.Itoa(n) + "}" }

func (r *Replica) bucketOf(session string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(session))
	return r.bucket(int(h.Sum32() % buckets))
}

func (r *Replica) heartbeat(replica string) string { return r.prefix + ":r:" + replica }

// leftMark returns the key that marks a replica as having left.
func (r *Replica) leftMark(replica string) string { return r.prefix + ":l:" + replica }

func (r *Replica) inboxOf(replica string) string { return r.prefix + ":i:" + replica }

// indexed returns the member of a bucket for an unfinished stream.
func indexed(session, stream string) string {
	return fmt.Sprintf("%d:%s%s", len(session), session, stream)
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
