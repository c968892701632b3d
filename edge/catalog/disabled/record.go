package disabled

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/ownership"
)

// record is the last act of an operator on one ID. The one with the greater At supersedes another, so that replicas agree on what
// they know together, whatever a Redis has lost.
type record struct {
	Kind    Kind   `json:"kind"`
	Name    string `json:"name"`
	Backend string `json:"backend,omitempty"`
	// Canonical is that of Entry.
	Canonical string `json:"canonical,omitempty"`
	// Enabled is true if the act has enabled the ID again.
	Enabled         bool   `json:"enabled,omitempty"`
	Reason          string `json:"reason,omitempty"`
	Issuer          string `json:"issuer,omitempty"`
	Subject         string `json:"subject,omitempty"`
	SubjectIsClient bool   `json:"subject_is_client,omitempty"`
	// At is the time of the act, in milliseconds of Unix time, or later: it is greater than those of all acts that its replica knew.
	At int64 `json:"at"`
}

// maxKept bounds the records of what was enabled again. Their only use is to supersede older records of a replica that was cut off.
const maxKept = 256

func (r *record) id() ID { return ID{Kind: r.Kind, Name: r.Name, Backend: r.Backend} }

func (r *record) entry() Entry {
	return Entry{
		ID: r.id(), Canonical: r.Canonical, Reason: r.Reason, Issuer: r.Issuer, Subject: r.Subject, SubjectIsClient: r.SubjectIsClient, Since: time.UnixMilli(r.At),
	}
}

// key returns the name of an ID in the Store.
func (id ID) key() string { return string(id.Kind) + "\x00" + id.Backend + "\x00" + id.Name }

// stored is a record with its value in the Store.
type stored struct {
	record
	value ownership.Value
}

// store encodes a record.
func store(r record) stored {
	raw, _ := json.Marshal(r) // cannot fail: strings, a number and booleans
	return stored{r, valueOf(raw)}
}

func valueOf(raw []byte) ownership.Value {
	sum := sha256.Sum256(raw)
	return ownership.Value{Digest: hex.EncodeToString(sum[:12]), Bytes: raw}
}

// unstore decodes a value. ok is false for one that this version cannot read.
func unstore(key string, raw []byte) (s stored, ok bool) {
	if json.Unmarshal(raw, &s.record) != nil || s.id().key() != key || !slices.Contains([]Kind{Tool, Backend, Set}, s.Kind) {
		return stored{}, false
	}
	s.value = valueOf(raw)
	return s, true
}

// records are the records that a replica knows, by the key of their ID.
type records map[string]stored

// take adds a record unless a known one supersedes it, and reports whether it did.
func (rs records) take(s stored) bool {
	key := s.id().key()
	was, known := rs[key]
	if known && cmp.Or(cmp.Compare(s.At, was.At), bytes.Compare(s.value.Bytes, was.value.Bytes)) <= 0 {
		return false
	}
	rs[key] = s
	return true
}

// prune drops the oldest records of what was enabled again, beyond maxKept.
func (rs records) prune() {
	enabled := slices.DeleteFunc(slices.Collect(maps.Values(rs)), func(s stored) bool { return !s.Enabled })
	if len(enabled) <= maxKept {
		return
	}
	slices.SortFunc(enabled, func(a, b stored) int {
		return cmp.Or(cmp.Compare(b.At, a.At), bytes.Compare(a.value.Bytes, b.value.Bytes))
	})
	for _, s := range enabled[maxKept:] {
		delete(rs, s.id().key())
	}
}

// list returns what is disabled by the records.
func (rs records) list() *List {
	var entries []Entry
	for _, s := range rs {
		if !s.Enabled {
			entries = append(entries, s.entry())
		}
	}
	return NewList(entries...)
}

// next returns the time of an act that supersedes all records.
func (rs records) next(now time.Time) int64 {
	at := now.UnixMilli()
	for _, s := range rs {
		at = max(at, s.At+1)
	}
	return at
}
