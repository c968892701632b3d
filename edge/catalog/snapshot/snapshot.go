// Package snapshot writes the lists that clients see to a file, and compares two such files, for
// reviews and CI.
package snapshot

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
)

// Snapshot has the lists that a caller sees under the newest revision. Each list is sorted by name.
type Snapshot struct {
	// Set is the name of the set that the caller uses. Empty means the root with root: all.
	Set       string  `json:"set,omitempty"`
	Tools     []Entry `json:"tools"`
	Prompts   []Entry `json:"prompts"`
	Resources []Entry `json:"resources"`
	Templates []Entry `json:"resourceTemplates"`
	Skills    []Entry `json:"skills"`
	// Definitions are those of all tools as their backends list them, including hidden ones. Compare
	// ignores them. Read returns nil for a file without them, from an older release.
	Definitions []lock.Definition `json:"definitions"`
}

// Entries returns the total number of entries in all lists.
func (s *Snapshot) Entries() int {
	return len(s.Tools) + len(s.Prompts) + len(s.Resources) + len(s.Templates) + len(s.Skills)
}

// Entry is one entry of a list.
type Entry struct {
	// Name is the name that clients see: a name, a URI, or the text of a template.
	Name string `json:"name"`
	// Backend is the configured name of its backend. Empty means a tool of the edge itself.
	Backend string `json:"backend"`
	// Unlisted is true for a tool that is in no list, but that find_tools of the set finds.
	Unlisted bool `json:"unlisted,omitempty"`
	// Canonical is the canonical name of a tool or prompt, if it differs from Name. It is the
	// backend's own name after its prefix, and decisions use it.
	Canonical string `json:"canonical,omitempty"`
	// Aliases are other names by which clients can call it.
	Aliases []string `json:"aliases,omitempty"`
	// Sends are the arguments that the edge adds to calls, sorted by name.
	Sends []Sent `json:"sends,omitempty"`
	// MaxResultTokens bounds the results of a tool; 0 means no bound.
	MaxResultTokens int `json:"maxResultTokens,omitempty"`
	// Shown is the entry as clients see it, a JSON object.
	Shown json.RawMessage `json:"shown"`
}

// Sent is an argument that the edge adds to calls. One of Value, From and Default is set.
type Sent struct {
	Argument string `json:"argument"`
	// Value is the digest of the fixed value of a pinned argument. The value may be a secret.
	Value string `json:"value,omitempty"`
	// From is the expression that computes the value of a pinned argument from the caller.
	From string `json:"from,omitempty"`
	// Default is the value that is sent if the caller sends none.
	Default json.RawMessage `json:"default,omitempty"`
}

// Digest returns a digest of the value of an argument of a tool or prompt. Short values can be
// guessed from it. canonical is the canonical name.
func Digest(canonical, argument string, value json.RawMessage) string {
	sum := sha256.Sum256([]byte(canonical + "\x00" + argument + "\x00" + string(value)))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// Write writes a snapshot as indented JSON. Equal snapshots have equal bytes: entries are sorted by
// name, and members of objects by key.
func (s *Snapshot) Write(w io.Writer) error {
	out := Snapshot{Set: s.Set}
	for _, l := range s.lists(&out) {
		*l.other = slices.Clone(*l.entries)
		slices.SortFunc(*l.other, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Backend, b.Backend)) })
		for i := range *l.other {
			e := &(*l.other)[i]
			value, err := decode(e.Shown)
			if err != nil {
				return fmt.Errorf("snapshot: the %s %q: %w", l.what, e.Name, err)
			}
			if e.Shown, err = json.Marshal(value); err != nil { // It sorts the members of objects.
				return fmt.Errorf("snapshot: the %s %q: %w", l.what, e.Name, err)
			}
		}
		if *l.other == nil {
			*l.other = []Entry{}
		}
	}
	out.Definitions = append([]lock.Definition{}, s.Definitions...)
	slices.SortStableFunc(out.Definitions, lock.Compare)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// Read reads a snapshot that Write has written. Unknown members, and data after the snapshot, are
// errors.
func Read(r io.Reader) (*Snapshot, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	s := &Snapshot{}
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("it is not a snapshot of a catalog: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("it is not a snapshot of a catalog: other data follows it")
	}
	return s, nil
}

// Lock returns a lock with the definitions of the snapshot. If block is true, tools that differ are
// hidden.
func (s *Snapshot) Lock(block bool) (*lock.Lock, error) {
	if s.Definitions == nil {
		return nil, errors.New("it has no definitions of tools, because an earlier release has written it: make a new one with mcpedge catalog snapshot")
	}
	return lock.New(s.Definitions, block), nil
}

// decode decodes JSON. Numbers keep their digits.
func decode(raw json.RawMessage) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// pairOfLists is a list of two snapshots.
type pairOfLists struct {
	what           string
	entries, other *[]Entry
}

// lists returns the lists of s, each with the list of other of the same kind.
func (s *Snapshot) lists(other *Snapshot) []pairOfLists {
	return []pairOfLists{
		{"tool", &s.Tools, &other.Tools}, {"prompt", &s.Prompts, &other.Prompts}, {"resource", &s.Resources, &other.Resources},
		{"resource template", &s.Templates, &other.Templates}, {"skill", &s.Skills, &other.Skills},
	}
}
