package snapshot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Kind is the kind of a change. Greater values are more serious.
type Kind int

// The kinds of changes.
const (
	// Words is a change of texts only: titles, descriptions, icons, metadata.
	Words Kind = iota
	// Widens is a change that allows or promises callers more: a new tool, an optional argument,
	// more valid arguments, fewer possible results.
	Widens
	// Changes is a change after which every call stays valid, but some have another effect or
	// result: another default or pinned value, a hint that promises less.
	Changes
	// Breaks is a change that makes a valid call fail, or returns a result that its schema did not
	// allow.
	Breaks
)

// String returns the name of the kind.
func (k Kind) String() string { return [...]string{"words", "widens", "changes", "breaks"}[k] }

// Change is one difference between two snapshots.
type Change struct {
	Kind Kind
	// What is the kind of the entry, such as "tool". Name is the entry's name.
	What, Name string
	// Text describes the change.
	Text string
	// Was and Is are the old and the new text, quoted for a reviewer. They are empty if Text is
	// sufficient.
	Was, Is string
}

// Compare returns the changes from one snapshot to another, the most serious first.
func Compare(before, after *Snapshot) (changes []Change) {
	for _, l := range before.lists(after) {
		c := comparison{what: l.what}
		c.entries(*l.entries, *l.other)
		changes = append(changes, c.changes...)
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(b.Kind, a.Kind) })
	return changes
}

// comparison compares two lists of the same kind.
type comparison struct {
	what, name string
	changes    []Change
}

func (c *comparison) add(kind Kind, format string, args ...any) {
	c.changes = append(c.changes, Change{Kind: kind, What: c.what, Name: c.name, Text: fmt.Sprintf(format, args...)})
}

// reworded adds a change of kind Words, with the old and the new value. nil means absent.
func (c *comparison) reworded(text string, before, after any) {
	was, is := quoted(before, after)
	c.changes = append(c.changes, Change{Words, c.what, c.name, text, was, is})
}

func (c *comparison) entries(before, after []Entry) {
	now, aliases := map[string]*Entry{}, map[string]*Entry{}
	for i := range after {
		e := &after[i]
		now[e.Name] = e
		for _, alias := range e.Aliases {
			aliases[alias] = e
		}
	}
	known := map[string]bool{}
	for i := range before {
		e := &before[i]
		known[e.Name], c.name = true, e.Name
		switch same, renamed := now[e.Name], aliases[e.Name]; {
		case same != nil:
			c.entry(e, same)
			c.aliases(e, same, now, aliases)
		case renamed != nil:
			c.add(Words, "it is %q now, and still answers to this name", renamed.Name)
			c.entry(e, renamed)
			c.aliases(e, renamed, now, aliases)
			known[renamed.Name] = true
		default:
			c.add(Breaks, "it is gone%s", andAliases(e.Aliases))
		}
	}
	for i := range after {
		if e := &after[i]; !known[e.Name] {
			c.name = e.Name
			c.add(Widens, "it is new, of %s", ownerOf(e))
			_, c.changes[len(c.changes)-1].Is = quoted(nil, e.Shown)
		}
	}
}

// ownerOf returns the backend of an entry for a text.
func ownerOf(e *Entry) string {
	if e.Backend == "" {
		return "the edge itself"
	}
	return fmt.Sprintf("the backend %q", e.Backend)
}

// andAliases returns the aliases of a removed entry for a text.
func andAliases(aliases []string) string {
	if len(aliases) == 0 {
		return ""
	}
	return ", and so are its aliases " + strings.Join(aliases, ", ")
}

// aliases compares the aliases of an entry that still exists. now maps names to the new entries,
// names maps aliases to them.
func (c *comparison) aliases(before, after *Entry, now, names map[string]*Entry) {
	for _, alias := range before.Aliases {
		switch at := cmp.Or(now[alias], names[alias]); at {
		case after:
		case nil:
			c.add(Breaks, "its alias %q is gone", alias)
		default:
			c.add(Breaks, "its alias %q leads to %q now", alias, at.Name)
		}
	}
	for _, alias := range after.Aliases {
		if alias != before.Name && !slices.Contains(before.Aliases, alias) {
			c.add(Widens, "it also answers to the alias %q", alias)
		}
	}
}

// The members of an entry that are compared by their meaning, rather than as texts.
const (
	inputSchema  = "inputSchema"
	outputSchema = "outputSchema"
	annotations  = "annotations"
	arguments    = "arguments"
)

func (c *comparison) entry(before, after *Entry) {
	if before.Backend != after.Backend {
		c.add(Breaks, "it belongs to %s now, and belonged to %s", ownerOf(after), ownerOf(before))
	}
	switch {
	case after.Unlisted && !before.Unlisted:
		c.add(Changes, "it is not listed any more, and find_tools finds it")
	case before.Unlisted && !after.Unlisted:
		c.add(Widens, "it is listed now")
	}
	a, b := object(before.Shown), object(after.Shown)
	c.canonical(before, after)
	c.sends(before, after)
	c.maxResult(before, after, a[outputSchema] != nil || b[outputSchema] != nil)
	for _, member := range keysOf(a, b) {
		old, now := a[member], b[member]
		if reflect.DeepEqual(old, now) || member == "name" && before.Name != after.Name {
			continue
		}
		switch {
		case member == inputSchema:
			sent := sentNames(before, after)
			c.schema("argument", withoutDefaults(old, sent), withoutDefaults(now, sent), true)
		case member == outputSchema && now == nil:
			c.add(Breaks, "it has no output schema any more")
		case member == outputSchema && old == nil:
			c.add(Widens, "it has an output schema")
		case member == outputSchema:
			c.schema("member of the result", old, now, false)
		case member == annotations && c.what == "tool":
			c.hints(old, now)
		case member == arguments:
			c.promptArguments(old, now)
		case member == "execution":
			c.add(executionKind(now), "%s was %s and is %s", member, text(old), text(now))
		case member == "mimeType", member == "uri", member == "uriTemplate":
			c.add(Breaks, "%s was %s and is %s", member, text(old), text(now))
		default:
			c.reworded(member+" has changed", old, now)
		}
	}
}

// hints compares a tool's annotations (MCP, "Tool annotations"), with their default values where
// they are absent.
func (c *comparison) hints(before, after any) {
	for _, h := range []struct {
		name    string
		usual   bool
		loosens bool // the value that promises callers less
	}{{"readOnlyHint", false, false}, {"destructiveHint", true, true}, {"idempotentHint", false, false}, {"openWorldHint", true, true}} {
		old, now := hint(before, h.name, h.usual), hint(after, h.name, h.usual)
		if old == now {
			continue
		}
		kind := Words
		if now == h.loosens {
			kind = Changes
		}
		c.add(kind, "%s was %t and is %t", h.name, old, now)
	}
	a, _ := before.(map[string]any)
	b, _ := after.(map[string]any)
	if old, now := a["title"], b["title"]; !reflect.DeepEqual(old, now) {
		c.reworded("the title in annotations has changed", old, now)
	}
}

func hint(of any, name string, usual bool) bool {
	members, _ := of.(map[string]any)
	if is, ok := members[name].(bool); ok {
		return is
	}
	return usual
}

// executionKind returns the kind of a change of a tool's task support (MCP, "Tasks"). now is the
// new value of execution.
func executionKind(now any) Kind {
	members, _ := now.(map[string]any)
	if members["taskSupport"] == "optional" {
		return Widens
	}
	return Breaks
}

// promptArguments compares the arguments of a prompt.
func (c *comparison) promptArguments(before, after any) {
	old, now := namedArguments(before), namedArguments(after)
	for _, name := range keysOf(old, now) {
		a, had := old[name].(map[string]any)
		b, has := now[name].(map[string]any)
		switch required := b["required"] == true; {
		case !has:
			c.add(Breaks, "the argument %q is gone", name)
		case required && (!had || a["required"] != true):
			c.add(Breaks, "the argument %q is required now", name)
		case !had:
			c.add(Widens, "the argument %q is new", name)
			_, c.changes[len(c.changes)-1].Is = quoted(nil, b)
		case !required && a["required"] == true:
			c.add(Widens, "the argument %q is optional now", name)
		case !reflect.DeepEqual(a, b):
			c.reworded(fmt.Sprintf("the texts of the argument %q have changed", name), a, b)
		}
	}
}

func namedArguments(list any) map[string]any {
	out := map[string]any{}
	entries, _ := list.([]any)
	for _, e := range entries {
		if members, ok := e.(map[string]any); ok {
			name, _ := members["name"].(string)
			out[name] = members
		}
	}
	return out
}

// object decodes a JSON object. It returns nil for other values.
func object(raw json.RawMessage) map[string]any {
	value, _ := decode(raw)
	members, _ := value.(map[string]any)
	return members
}

// keysOf returns the keys of both maps, sorted and without duplicates.
func keysOf(a, b map[string]any) []string {
	keys := slices.Sorted(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// maxText bounds a value in the text of a change, in bytes.
const maxText = 60

// text formats a value for the text of a change.
func text(value any) string {
	if value == nil {
		return "absent"
	}
	raw, _ := json.Marshal(value)
	if len(raw) > maxText {
		return string(raw[:maxText]) + "…"
	}
	return string(raw)
}
