// Package snapshot writes what clients see of the backends to a file, and says how two such files
// differ, for reviews and CI.
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

// Snapshot is the lists that a caller sees, under the newest revision. Each is sorted by name.
type Snapshot struct {
	// Set is the name of the set at whose endpoint the caller is. Empty means the root with root: all.
	Set       string  `json:"set,omitempty"`
	Tools     []Entry `json:"tools"`
	Prompts   []Entry `json:"prompts"`
	Resources []Entry `json:"resources"`
	Templates []Entry `json:"resourceTemplates"`
	Skills    []Entry `json:"skills"`
	// Definitions are of all tools of the backends as these list them, also of hidden ones. Compare ignores them. Read leaves nil for a file
	// of a release that did not write them.
	Definitions []lock.Definition `json:"definitions"`
}

// Entries returns the number of entries of all lists.
func (s *Snapshot) Entries() int {
	return len(s.Tools) + len(s.Prompts) + len(s.Resources) + len(s.Templates) + len(s.Skills)
}

// Entry is one entry of a list.
type Entry struct {
	// Name is the name, the URI or the text of the template by which clients know it.
	Name string `json:"name"`
	// Backend is the configured name of its backend. Empty means a tool of the edge itself.
	Backend string `json:"backend"`
	// Unlisted is true for a tool that no list has, and that find_tools of the set finds.
	Unlisted bool `json:"unlisted,omitempty"`
	// Canonical is the name of a tool or prompt that decisions use, its backend's own after its prefix,
	// if it is another one than Name.
	Canonical string `json:"canonical,omitempty"`
	// Aliases are further names that can be called.
	Aliases []string `json:"aliases,omitempty"`
	// Sends are the arguments that the edge adds to calls, sorted by name.
	Sends []Sent `json:"sends,omitempty"`
	// MaxResultTokens bounds the results of a tool; 0 means no bound.
	MaxResultTokens int `json:"maxResultTokens,omitempty"`
	// Shown is the entry as clients see it, a JSON object.
	Shown json.RawMessage `json:"shown"`
}

// Sent is an argument that the edge adds to calls, by one of Value, From and Default.
type Sent struct {
	Argument string `json:"argument"`
	// Value is the digest of the value to which the argument is pinned, which may be a secret.
	Value string `json:"value,omitempty"`
	// From is the expression that computes the value from the caller.
	From string `json:"from,omitempty"`
	// Default is the value that is sent if the caller sends none.
	Default json.RawMessage `json:"default,omitempty"`
}

// Digest returns a text that is equal for equal values of an argument of a tool or prompt, given by its
// canonical name. Short values can be guessed from it.
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

// Read reads what Write has written. An unknown member, and what follows the snapshot, is an error.
func Read(r io.Reader) (*Snapshot, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	s := &Snapshot{}
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("it is no snapshot of a catalog: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("it is no snapshot of a catalog: something follows it")
	}
	return s, nil
}

// Lock returns a lock with the definitions of a snapshot. block hides the tools that differ.
func (s *Snapshot) Lock(block bool) (*lock.Lock, error) {
	if s.Definitions == nil {
		return nil, errors.New("it has no definitions of tools, because an earlier release has written it: make a new one with mcpedge catalog snapshot")
	}
	return lock.New(s.Definitions, block), nil
}

// decode decodes JSON and keeps the digits of numbers.
func decode(raw json.RawMessage) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// pairOfLists is one list of two snapshots.
type pairOfLists struct {
	what           string
	entries, other *[]Entry
}

// lists returns the lists of s, each beside that of other.
func (s *Snapshot) lists(other *Snapshot) []pairOfLists {
	return []pairOfLists{
		{"tool", &s.Tools, &other.Tools}, {"prompt", &s.Prompts, &other.Prompts}, {"resource", &s.Resources, &other.Resources},
		{"resource template", &s.Templates, &other.Templates}, {"skill", &s.Skills, &other.Skills},
	}
}
