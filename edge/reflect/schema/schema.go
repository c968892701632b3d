package schema

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	"github.com/mcpedge/mcpedge/edge/schema"
)

// Wrapper is the member that holds a message whose JSON is no object.
const Wrapper = "value"

// Schema is what was written.
type Schema struct {
	// JSON is the schema, an object at its root.
	JSON string
	// Notes are sentences about what the schema cannot hold, naming field and rule. Each once.
	Notes []string
	// Open is the bound on all schemas together that this one would cross, so that it accepts every object; nil: it is
	// within them.
	Open error
}

// Input writes the schema of what a method takes. Its cost counts on the meter. Where the schema of all that the message
// consists of would be larger than schema.Compile takes, the messages below a depth are objects of any content, and a note names
// the depth. A schema that is larger even so accepts every object, and a note says so.
func Input(md protoreflect.MessageDescriptor, meter *limit.Meter) Schema {
	return generate(md, true, meter)
}

// Output writes the schema of what a method gives, as Input does.
func Output(md protoreflect.MessageDescriptor, meter *limit.Meter) Schema {
	return generate(md, false, meter)
}

// generator writes one schema.
type generator struct {
	input bool
	meter *limit.Meter
	root  protoreflect.FullName
	// shared are the messages that stand in $defs: those that recur, or are used in several places.
	shared map[protoreflect.FullName]bool
	defs   map[definition]*object
	// as is what applies to the message that is being written.
	as variant
	// mask: a field of that message says what of it is to be updated.
	mask bool
	// queue are the messages in $defs, those from written on still without their schema.
	queue   []queued
	written int
	// depth is how many messages lead to the one that is being written, deepest the most of them so far. Messages at the depth
	// most, at most limit.MaxDepth, are not described.
	depth, deepest, most int
	// size is about how long the schema is by now.
	size  int
	notes limit.Notes
}

// definition is a message in $defs, as a place has it.
type definition struct {
	name protoreflect.FullName
	as   variant
}

// key is its name in $defs. No message has a hyphen in its name.
func (d definition) key() string { return string(d.name) + d.as.suffix() }

// queued is a definition to be written, and how many messages lead to it.
type queued struct {
	definition
	md    protoreflect.MessageDescriptor
	depth int
}

// anyObject is the schema of what is not described.
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

// deepest writes a schema with the messages down to the greatest depth at which it is within its bounds, and returns it with its
// generator. The error is the bound that it crosses with no message in it described.
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

// write writes the schema as JSON. The error is the bound that it crosses.
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
	if !g.goesOn(0) {
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

// goesOn counts a step and so many bytes of the schema, and reports whether it is within the bounds.
func (g *generator) goesOn(bytes int) bool {
	g.size += bytes
	return g.meter.Step(1) && g.size <= schema.MaxBytes
}

// survey finds the messages that stand in $defs.
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

// note records what cannot be held.
func (g *generator) note(format string, args ...any) { g.notes.Add(format, args...) }

// message is the schema of a message where it is used: itself, or a reference.
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
		g.defs[def] = obj() // stands for it until it is written
		g.queue = append(g.queue, queued{def, md, g.depth + 1})
	}
	return obj("$ref", "#/$defs/"+def.key())
}

// described is body as a place has the message.
func (g *generator) described(md protoreflect.MessageDescriptor, as variant) *object {
	before := g.as
	defer func() { g.as = before }()
	g.as = as
	return g.body(md)
}

// fieldBytes is about what a field has in a schema, beside its name and its description.
const fieldBytes = 40

// body is the schema of a message with its fields.
func (g *generator) body(md protoreflect.MessageDescriptor) *object {
	s := obj("type", "object")
	if text := describe(md); text != "" && md.FullName() != g.root {
		g.size += len(text)
		s.set("description", text)
	}
	rules := g.messageRules(md)
	before := g.mask
	defer func() { g.mask = before }()
	g.mask = masked(md)
	properties := obj()
	var required []any
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if !g.goesOn(len(fd.JSONName()) + fieldBytes) {
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
