package schema

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	"github.com/mcpedge/mcpedge/edge/schema"
)

// Wrapper is the member for a message whose JSON is not an object.
const Wrapper = "value"

// Schema is a generated schema.
type Schema struct {
	// JSON is the schema, an object at its root.
	JSON string
	// Notes are sentences about rules that the schema does not enforce, with field and rule,
	// without duplicates.
	Notes []string
	// Open is the bound on the size of all schemas that this one would exceed, so that it accepts
	// every object; nil if it is within the bound.
	Open error
}

// Input generates the schema of a method's request. The meter counts its cost. If the complete
// schema would be larger than schema.Compile accepts, messages below some depth become objects of
// any content, and a note has the depth. If even that is too large, the schema accepts every
// object, with a note.
func Input(md protoreflect.MessageDescriptor, meter *limit.Meter) Schema {
	return generate(md, true, meter)
}

// Output generates the schema of a method's response, as Input does.
func Output(md protoreflect.MessageDescriptor, meter *limit.Meter) Schema {
	return generate(md, false, meter)
}

// generator generates one schema.
type generator struct {
	input bool
	meter *limit.Meter
	root  protoreflect.FullName
	// shared are the messages in $defs: recursive ones, and those used in several places.
	shared map[protoreflect.FullName]bool
	defs   map[definition]*object
	// as is the variant of the current message.
	as variant
	// mask reports that a field of the current message is an update mask.
	mask bool
	// queue are the messages in $defs; those from index written on have no schema yet.
	queue   []queued
	written int
	// depth is the nesting of the current message, deepest the maximum so far. Messages at depth
	// most, which is at most limit.MaxDepth, are not described.
	depth, deepest, most int
	// size is the approximate size of the schema so far.
	size  int
	notes limit.Notes
}

// definition is a message in $defs in one variant.
type definition struct {
	name protoreflect.FullName
	as   variant
}

// key returns its name in $defs. Names of messages have no hyphen, so keys are unique.
func (d definition) key() string { return string(d.name) + d.as.suffix() }

// queued is a definition without a schema, and its depth.
type queued struct {
	definition
	md    protoreflect.MessageDescriptor
	depth int
}

// anyObject returns the schema of a message that is not described.
func anyObject() *object { return obj("type", "object") }

func generate(md protoreflect.MessageDescriptor, input bool, meter *limit.Meter) Schema {
	const open = `{"type":"object"}`
	text, g, err := deepest(md, input, meter)
	switch {
	case meter.Err() != nil:
		return Schema{JSON: open, Open: meter.Err()}
	case err != nil:
		g.note("a schema is left open, since %v", err)
		return Schema{JSON: open, Notes: g.notes.List()}
	case !meter.Schema(len(text)):
		return Schema{JSON: open, Open: fmt.Errorf("the schemas of all tools have more than %d bytes", meter.MostSchemas())}
	}
	return Schema{JSON: string(text), Notes: g.notes.List()}
}

// deepest generates the schema with the greatest depth that is within the bounds, and returns it
// with its generator. It returns the exceeded bound if even depth 0 is too large.
func deepest(md protoreflect.MessageDescriptor, input bool, meter *limit.Meter) ([]byte, *generator, error) {
	shared := survey(md, meter)
	write := func(most int) ([]byte, *generator, error) {
		g := &generator{
			input: input, meter: meter, root: md.FullName(), shared: shared, defs: map[definition]*object{}, most: most,
		}
		text, err := g.write(md)
		return text, g, err
	}
	text, g, crossed := write(limit.MaxDepth)
	if crossed == nil {
		return text, g, nil
	}
	fits, crosses := -1, g.deepest
	for fits+1 < crosses && meter.Err() == nil {
		most := (fits + crosses) / 2
		if shallower, at, err := write(most); err == nil {
			fits, text, g = most, shallower, at
		} else {
			crosses, crossed = most, err
		}
	}
	if fits < 0 {
		return nil, g, crossed
	}
	g.note("messages nested more than %d deep are not described, since with them %v", fits, crossed)
	return text, g, nil
}

// write generates the JSON of the schema. It returns the bound that the schema exceeds.
func (g *generator) write(md protoreflect.MessageDescriptor) ([]byte, error) {
	var root *object
	if Wrapped(md) {
		root = obj("type", "object", "properties", obj(Wrapper, g.message(md, nil, variant{})), "required", []any{Wrapper})
		if g.input {
			root.set("additionalProperties", false)
		}
	} else if special := g.wellKnown(md, nil); special != nil {
		root = special
	} else {
		root = g.body(md)
	}
	for ; g.written < len(g.queue); g.written++ {
		next := g.queue[g.written]
		g.depth = next.depth
		g.defs[next.definition] = g.described(next.md, next.as)
	}
	if !g.spend(0) {
		return nil, fmt.Errorf("it has more than %d bytes", schema.MaxBytes)
	}
	if len(g.queue) > 0 {
		slices.SortFunc(g.queue, func(a, b queued) int { return strings.Compare(a.key(), b.key()) })
		defs := obj()
		for _, d := range g.queue {
			defs.set(d.key(), g.defs[d.definition])
		}
		root.set("$defs", defs)
	}
	text, err := marshal(root)
	if err == nil {
		err = schema.Fits(string(text))
	}
	return text, err
}

// spend counts a step and bytes of the schema, and reports whether they are within the bounds.
func (g *generator) spend(bytes int) bool {
	g.size += bytes
	return g.meter.Step(1) && g.size <= schema.MaxBytes
}

// survey returns the messages that belong in $defs.
func survey(md protoreflect.MessageDescriptor, meter *limit.Meter) map[protoreflect.FullName]bool {
	shared := map[protoreflect.FullName]bool{}
	seen := map[protoreflect.FullName]bool{md.FullName(): true}
	for todo := []protoreflect.MessageDescriptor{md}; len(todo) > 0; {
		md, todo = todo[len(todo)-1], todo[:len(todo)-1]
		for i := range md.Fields().Len() {
			if !meter.Step(1) {
				return shared
			}
			fd := md.Fields().Get(i)
			if fd.IsMap() {
				fd = fd.MapValue()
			}
			sub := fd.Message()
			switch {
			case sub == nil || IsWellKnown(sub):
			case seen[sub.FullName()]:
				shared[sub.FullName()] = true
			default:
				seen[sub.FullName()] = true
				todo = append(todo, sub)
			}
		}
	}
	return shared
}

// note records a rule that the schema does not enforce.
func (g *generator) note(format string, args ...any) { g.notes.Add(format, args...) }

// message returns the schema of a message where it is used: inline, or a reference.
func (g *generator) message(md protoreflect.MessageDescriptor, rules *ruleSet, as variant) *object {
	if special := g.wellKnown(md, rules); special != nil {
		return special
	}
	name := md.FullName()
	def := definition{name, as}
	switch {
	case g.shared[name] && g.defs[def] != nil:
	case g.depth >= g.most:
		if g.most == limit.MaxDepth {
			g.note("message %s is more than %d messages deep, and is not described there", name, limit.MaxDepth)
		}
		return anyObject()
	case !g.shared[name]:
		g.depth++
		defer func() { g.depth-- }()
		g.deepest = max(g.deepest, g.depth)
		return g.described(md, as)
	default:
		g.deepest = max(g.deepest, g.depth+1)
		g.defs[def] = obj() // replaced when the queue is written
		g.queue = append(g.queue, queued{def, md, g.depth + 1})
	}
	return obj("$ref", "#/$defs/"+def.key())
}

// described returns body for one variant of a message.
func (g *generator) described(md protoreflect.MessageDescriptor, as variant) *object {
	before := g.as
	defer func() { g.as = before }()
	g.as = as
	return g.body(md)
}

// fieldBytes is the approximate size of a field in a schema, without its name and description.
const fieldBytes = 40

// body returns the schema of a message with its fields.
func (g *generator) body(md protoreflect.MessageDescriptor) *object {
	s := obj("type", "object")
	if text := describe(md); text != "" && md.FullName() != g.root {
		g.size += len(text)
		s.set("description", text)
	}
	rules := g.messageRules(md)
	before := g.mask
	defer func() { g.mask = before }()
	g.mask = hasUpdateMask(md)
	properties := obj()
	var required []any
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if !g.spend(len(fd.JSONName()) + fieldBytes) {
			return s
		}
		property, must := g.field(fd, rules)
		properties.set(fd.JSONName(), property)
		if must {
			required = append(required, fd.JSONName())
		}
	}
	s.set("properties", properties)
	if len(required) > 0 {
		s.set("required", required)
	}
	if md.ExtensionRanges().Len() > 0 {
		s.set("patternProperties", obj(`^\[.+\]$`, obj()))
	}
	if g.input {
		s.set("additionalProperties", false)
		g.oneofs(s, md, rules)
	}
	return s
}
