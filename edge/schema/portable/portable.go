package portable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// These bound a portable schema. Beyond them it is cut at the deepest places, and says so.
const (
	// MaxBytes bounds the text of a schema. A larger one is shown as any object.
	MaxBytes = 256 << 10
	// ShownBytes bounds the shown text: expanding references may multiply a schema.
	ShownBytes = 64 << 10
	// Levels bounds the nesting of objects, counting the root. The last level shows no members.
	// OpenAI's strict mode accepts this many.
	Levels = 10
	// Recursion bounds how often a recursive message is expanded on one path from the root.
	Recursion = 2
	// AnyDepth is the nesting depth of shown arrays where any JSON is accepted.
	AnyDepth = 2
	// EnumValues bounds the values of all enumerations together.
	EnumValues = 1000

	// maxSteps bounds the work on one schema. Each visit of a schema or value is one step, repeated
	// for each reference to it.
	maxSteps = 5_000
	// stepBytes is the text that is read or written in one step.
	stepBytes    = 64
	maxNotes     = 8
	maxNoteBytes = 1 << 10
)

// Result is a portable schema.
type Result struct {
	// JSON is the schema.
	JSON string
	// Notes are sentences for the tool's description: constraints on the arguments beyond the
	// schema. There are at most 8, of at most 1 KiB together; most tools have none.
	Notes []string
	// Work is the cost of making it: the bytes of both schemas, and 8 for each visited schema and
	// value. It is equal for equal texts, and at most MaxWork.
	Work int
	// Withheld is true if the schema is not shown, see List.
	Withheld bool
}

// MaxWork is the maximum work for one schema.
const MaxWork = MaxBytes + 2*ShownBytes + 4*maxSteps*stepWork

// stepWork is the work of one step.
const stepWork = 8

// anyObject is the schema of any object.
const anyObject = `{"type":"object","properties":{}}`

// Schema rewrites the schema of a tool's arguments, a JSON object. Empty text means that any object
// is accepted. It is pure: equal texts give equal results. A schema that it cannot read becomes
// that of any object.
func Schema(text string) Result {
	open := Result{JSON: anyObject}
	if text == "" {
		return open
	}
	open.Work = min(len(text), MaxBytes)
	if len(text) > MaxBytes {
		open.Notes = []string{fmt.Sprintf("The schema of the arguments has more than %d bytes and is not shown.", MaxBytes)}
		return open
	}
	if !jsonrpc.Valid([]byte(text)) {
		return open
	}
	doc, err := parse(text)
	root, ok := doc.(*object)
	if err != nil || !ok {
		return open
	}
	c := &converter{refs: newRefs(root), left: ShownBytes, enums: EnumValues, patterns: map[string]string{}, mirrored: map[*object]int{}}
	out := c.convert(root)
	if c.headers < countHeaders(root) {
		// If a client did not see a header's annotation, its calls would be refused.
		return Result{JSON: text, Work: len(text) + c.steps*stepWork, Notes: []string{"The schema is shown whole, because it would otherwise be cut above arguments that are mirrored in headers."}}
	}
	shown := print(out)
	return Result{JSON: shown, Notes: c.notes, Work: len(text) + len(shown) + c.steps*stepWork}
}

// converter makes one portable schema, breadth first, so that the deepest places are cut.
type converter struct {
	refs  *refs
	queue []*task
	// left is the number of bytes that may still be written, enums the number of enumeration
	// values.
	left, enums int
	steps       int
	headers     int
	// patterns caches rewritten patterns, mirrored the headers found below schemas.
	patterns map[string]string
	mirrored map[*object]int
	cuts     []string
	notes    []string
}

// task is a schema to be written into out.
type task struct {
	in    sub
	out   *object
	at    string // the names on the path from the root
	level int    // of the enclosing object
	plain bool   // only properties lead here
	// kept is the reserved part of left, in bytes.
	kept int
	// owner is the object whose member it is, or nil. name is the member's name.
	owner *object
	name  string
}

// drop removes a member from its object.
func (t *task) drop() {
	properties, _ := t.owner.get("properties").(*object)
	properties.remove(t.name)
	if len(properties.keys) == 0 && t.level > 1 {
		t.owner.remove("properties")
	}
	if list, ok := t.owner.get("required").([]any); ok {
		if list = slices.DeleteFunc(list, func(x any) bool { return x == t.name }); len(list) > 0 {
			t.owner.set("required", list)
		} else {
			t.owner.remove("required")
		}
	}
}

func (c *converter) convert(root *object) *object {
	out := &object{}
	f := c.flatten(sub{value: root, open: c.refs.root()})
	f.none, f.types, f.values = false, typeObject, nil
	for _, text := range c.hoist(f) {
		c.note(text)
	}
	c.object(f, &task{out: out, level: 1, plain: true}, true)
	for len(c.queue) > 0 {
		t := c.queue[0]
		c.queue = c.queue[1:]
		c.left += t.kept
		if c.left <= 0 && t.owner != nil {
			c.cut(t.at)
			t.drop()
			continue
		}
		if c.left <= 0 {
			c.cut(t.at)
			c.spend(anyBytes)
			t.out.set("anyOf", anyOf("", AnyDepth))
			continue
		}
		c.write(c.flatten(t.in), t)
	}
	if len(c.cuts) > 0 {
		c.note("Not all members are shown below " + strings.Join(c.cuts, ", ") + "; all of them are accepted.")
	}
	return out
}

func (c *converter) note(text string) {
	size := len(text)
	for _, n := range c.notes {
		size += len(n)
	}
	if len(c.notes) < maxNotes && size <= maxNoteBytes && !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// cut records that members below a place are not shown.
func (c *converter) cut(at string) {
	const most = 5
	if at == "" {
		at = "the root"
	}
	switch n := len(c.cuts); {
	case n < most && !slices.Contains(c.cuts, at):
		c.cuts = append(c.cuts, clip(at, 80))
	case n == most:
		c.cuts = append(c.cuts, "and elsewhere")
	}
}

// write writes a schema in the form that suits its types.
func (c *converter) write(f *facts, t *task) {
	forms, said := c.branches(f)
	f.words = append(f.words, said...)
	if f.cut && f.possible() == anyType {
		c.cut(t.at)
	}
	if slices.ContainsFunc(forms, (*facts).anything) {
		t.out.set("anyOf", anyOf(clip(f.description(), max(c.left, 0)), AnyDepth))
		c.spend(len(print(t.out)))
		return
	}
	var kinds []*facts
	for _, one := range forms {
		kinds = append(kinds, one.split()...)
	}
	for i, k := range kinds {
		if i == 0 {
			k.takeTexts(f)
		} else {
			k.dropTexts(f)
		}
	}
	switch kinds = distinct(kinds); len(kinds) {
	case 0:
		t.out.set("type", "string")
		c.describe(t.out, f, "No value fits.")
		c.spend(len(print(t.out)))
	case 1:
		c.typed(kinds[0], t)
	default:
		list := make([]any, 0, len(kinds))
		for _, k := range kinds {
			o := &object{}
			list = append(list, o)
			c.typed(k, &task{out: o, at: t.at, level: t.level})
		}
		t.out.set("anyOf", list)
	}
}

// typed writes a schema with one type.
func (c *converter) typed(f *facts, t *task) {
	switch f.types {
	case typeObject:
		t.level++
		c.object(f, t, false)
		return
	case typeArray:
		c.array(f, t)
		return
	case typeString:
		t.out.set("type", "string")
		c.text(f, t.out)
	case typeBoolean:
		t.out.set("type", "boolean")
	case typeNull:
		t.out.set("type", "null")
	case typeInteger:
		t.out.set("type", "integer")
		c.bounds(f, t.out)
	default:
		t.out.set("type", "number")
		c.bounds(f, t.out)
	}
	if f.types != typeString {
		c.values(f)
	}
	if f.header != nil && t.plain && f.types&(typeString|typeInteger|typeBoolean) != 0 && f.types != typeNumber {
		t.out.set(headerKey, f.header)
		c.headers++
	}
	c.describe(t.out, f, "")
	c.spend(len(print(t.out)))
}

// spend reduces the bytes that may be shown.
func (c *converter) spend(n int) { c.left -= n }

// charge counts steps. Beyond maxSteps no further schema is visited.
func (c *converter) charge(steps int) { c.steps = min(c.steps+steps, 4*maxSteps) }

// memberBytes and anyBytes are reserved for a member beside its name, and for an array's items.
const memberBytes = 48

var anyBytes = len(anyJSON)

// object writes an object with its members, if they still fit.
func (c *converter) object(f *facts, t *task, root bool) {
	out := t.out
	out.set("type", "object")
	names, words := c.shown(f)
	for _, w := range words {
		f.addText(w)
	}
	cost, fit := 0, 0
	for _, name := range names {
		if cost += len(name) + memberBytes; cost <= c.left/2 {
			fit++
		}
	}
	switch {
	case root:
		if fit < len(names) || f.cut {
			c.cut(t.at)
			names = names[:fit]
		}
		for _, w := range f.words {
			c.note(w)
		}
		f.words = nil
	case f.cut || len(names) > 0 && (t.level >= Levels || cost > c.left):
		c.cut(t.at)
		f.addText("Its members are not shown.")
		names = nil
	}
	c.describe(out, f, "")
	c.spend(len(print(out)))
	if len(names) == 0 && !root {
		return
	}
	properties := &object{}
	out.set("properties", properties)
	var required []any
	for _, name := range names {
		member := &task{ // its level is that of the object around it
			in: f.properties[name], out: &object{}, at: name, level: t.level, plain: t.plain && !f.properties[name].referred,
			kept: memberBytes, owner: out, name: name,
		}
		if t.at != "" {
			member.at = t.at + "." + name
		}
		properties.set(name, member.out)
		c.spend(len(name) + memberBytes)
		c.queue = append(c.queue, member)
		if f.required.has[name] {
			required = append(required, name)
			c.spend(len(name))
		}
	}
	if len(required) > 0 {
		out.set("required", required)
	}
}

// array writes an array with its items.
func (c *converter) array(f *facts, t *task) {
	t.out.set("type", "array")
	for _, key := range []string{"minItems", "maxItems"} {
		if n, ok := count(f.keywords[key]); ok {
			t.out.set(key, n)
		}
	}
	in := f.items
	if f.cut || c.left <= 0 {
		c.cut(t.at)
	}
	if f.cut || c.left <= 0 || len(f.prefix) > 0 || in.value == nil {
		in = sub{value: true, open: c.refs.root()}
	}
	for i, p := range f.prefix {
		if i == 4 {
			break
		}
		f.addText(fmt.Sprintf("Item %d: %s.", i, c.form(p.value, 80)))
	}
	c.describe(t.out, f, "")
	items := &object{}
	t.out.set("items", items)
	c.spend(len(print(t.out)) + anyBytes)
	c.queue = append(c.queue, &task{in: in, out: items, at: t.at, level: t.level, kept: anyBytes})
}

// Describe adds the notes to a tool's description.
func (r Result) Describe(description string) string {
	if len(r.Notes) == 0 {
		return description
	}
	return join(description, "Arguments: "+strings.Join(r.Notes, " "))
}
