package disabled

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/ownership"
)

// record is an operator's last act on one ID. A record with a greater At supersedes another. So
// replicas converge, even after Redis has lost writes.
type record struct {
	Kind    Kind   `json:"kind"`
	Name    string `json:"name"`
	Backend string `json:"backend,omitempty"`
	// Canonical is Entry.Canonical.
	Canonical string `json:"canonical,omitempty"`
	// Enabled is true if the act enabled the ID, and false if it disabled the ID.
	Enabled         bool   `json:"enabled,omitempty"`
	Reason          string `json:"reason,omitempty"`
	Issuer          string `json:"issuer,omitempty"`
	Subject         string `json:"subject,omitempty"`
	SubjectIsClient bool   `json:"subject_is_client,omitempty"`
	// At is the time of the act by the clock of the Store, in milliseconds of Unix time. It is
	// increased where necessary, so that it is greater than those of all earlier acts that the
	// replica knew. It is the last member.
	At int64 `json:"at"`
}

// maxKept bounds the records of enabled IDs. They only supersede older records of a replica that
// was cut off.
const maxKept = 256

func (r *record) id() ID { return ID{Kind: r.Kind, Name: r.Name, Backend: r.Backend} }

func (r *record) entry() Entry {
	return Entry{
		ID: r.id(), Canonical: r.Canonical, Reason: r.Reason, Issuer: r.Issuer, Subject: r.Subject, SubjectIsClient: r.SubjectIsClient, Since: time.UnixMilli(r.At),
	}
}

// key returns the name of an ID in the Store.
func (id ID) key() string { return string(id.Kind) + "\x00" + id.Backend + "\x00" + id.Name }

// stored is a record with its encoding in the Store.
type stored struct {
	record
	value ownership.Value
}

// maxAt is the latest valid time of a record, the end of the year 9999. A later one is damaged, and
// could overflow a sum.
const maxAt = 253402300799999

// encode encodes a record.
func encode(r record) stored {
	raw, _ := json.Marshal(r) // cannot fail: strings, a number and booleans
	return stored{r, ownership.Value{Digest: timePrefix(r.At) + withoutTime(r, 0).Sum, Bytes: raw}}
}

// timePrefix returns the beginning of a digest: the time and a point.
func timePrefix(at int64) string { return fmt.Sprintf("%016x.", at) }

// withoutTime encodes a record without its time.
func withoutTime(r record, after int64) Unstamped {
	r.At = 0
	raw, _ := json.Marshal(r) // At is its last member
	end := len(raw) - len("0}")
	sum := sha256.Sum256(raw)
	return Unstamped{Head: raw[:end], Tail: raw[end+1:], Sum: hex.EncodeToString(sum[:12]), After: after}
}

// decode decodes a value. ok is false if this version cannot read the value, if it exceeds a
// bound, or if it does not match the digest, because it was replaced after the digest was read.
func decode(key, digest string, raw []byte) (s stored, ok bool) {
	switch {
	case json.Unmarshal(raw, &s.record) != nil, s.id().key() != key, !slices.Contains([]Kind{Tool, Backend, Set}, s.Kind),
		max(len(s.Name), len(s.Backend)) > MaxName, len(s.Canonical) > 2*MaxName, len(s.Reason) > MaxReason,
		s.At <= 0, s.At > maxAt, !strings.HasPrefix(digest, timePrefix(s.At)):
		return stored{}, false
	}
	s.value = ownership.Value{Digest: digest, Bytes: raw}
	return s, true
}

// records maps the keys of IDs to the records that a replica knows.
type records map[string]stored

// add adds a record and reports whether it did. It rejects a record that a known one supersedes,
// and one with a time after maxAt.
func (rs records) add(s stored) bool {
	key := s.id().key()
	was, known := rs[key]
	if s.At > maxAt || known && cmp.Or(cmp.Compare(s.At, was.At), cmp.Compare(s.value.Digest, was.value.Digest)) <= 0 {
		return false
	}
	rs[key] = s
	return true
}

// prune drops the oldest records of enabled IDs, until at most maxKept of them are left.
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

// list returns the list of the disabled IDs.
func (rs records) list() *List {
	var entries []Entry
	for _, s := range rs {
		if !s.Enabled {
			entries = append(entries, s.entry())
		}
	}
	return NewList(entries...)
}

// last returns the greatest time of all records; 0 without records.
func (rs records) last() (at int64) {
	for _, s := range rs {
		at = max(at, s.At)
	}
	return at
}
