package reflect

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	"github.com/mcpedge/mcpedge/edge/reflect/schema"
	optionspb "github.com/mcpedge/mcpedge/gen/mcpedge/options/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// model is what was learned of a target. It is immutable. Its room is released when it was replaced and no call uses it (Adapter.use).
type model struct {
	// version is a digest: equal for equal tools.
	version string
	// source is a digest of what it was made of.
	source [sha256.Size]byte
	// tools are in the order of their methods' full names.
	tools   []*pb.Tool
	methods map[string]*method
	types   resolver
	// any has the types of google.protobuf.Any that types lacks.
	any *anyTypes
	// codec reads answers with types.
	codec codec
	// operations are how the target's operations are followed; nil: they cannot be.
	operations *operations
	notes      []string
	// room is the memory that it holds; nil: it is not counted.
	room *limit.Room
}

// method is one method that is a tool.
type method struct {
	desc protoreflect.MethodDescriptor
	// full is "package.Service/Method".
	full    string
	prefix  string
	options *optionspb.ToolOptions
	tool    *pb.Tool
	// operates: it begins an operation, which is followed to its end. response is what that gives; nil: it is not known.
	operates bool
	response protoreflect.MessageDescriptor
	notes    []string
}

// repeatable: running it twice does no more than running it once.
func (m *method) repeatable() bool {
	hints := m.tool.GetAnnotations()
	return hints.GetIdempotent() || hints.GetReadOnly()
}

func (m *method) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// build makes tools of a catalog. prefix is what the edge puts before their names.
func build(c *catalog, pick *selection, prefix string) *model {
	c.disown()
	files := c.linked()
	lacks := c.findLacking(files)
	types := resolver{dynamicpb.NewTypes(files)}
	m := &model{methods: map[string]*method{}, types: types, any: newAnyTypes(c.method, files, c.meter.Room()), codec: newCodec(types), room: c.meter.Room()}
	var methods []*method
	for _, name := range c.services {
		d, err := files.FindDescriptorByName(protoreflect.FullName(name))
		service, ok := d.(protoreflect.ServiceDescriptor)
		if err != nil || !ok {
			c.note("service %s is not described, and none of its methods is a tool", name)
			continue
		}
		methods = append(methods, c.methods(service, pick, lacks)...)
	}
	c.judge(pick, methods)
	if len(methods) > limit.MaxTools {
		c.note("%d methods are more than %d: the last ones are left out; select some with include", len(methods), limit.MaxTools)
		methods = methods[:limit.MaxTools]
	}
	names(methods, prefix, c.note)
	m.operations = c.findOperations(files)
	written := &schemas{meter: c.meter, known: map[schemaOf]schema.Schema{}}
	var parts [][]byte
	for _, one := range methods {
		if begins(one.desc) {
			one.follows(m, lacks)
		}
		one.describe(written)
		m.tools = append(m.tools, one.tool)
		m.methods[one.tool.Name] = one
		for _, note := range one.notes {
			c.note("tool %s: %s", one.tool.Name, note)
		}
		raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(one.tool)
		parts = append(parts, raw)
	}
	if written.open > 0 {
		c.note("%d schemas are left open, since %v", written.open, written.why)
	}
	if err := c.meter.Err(); err != nil && len(m.tools) == 0 {
		c.exceeds("the service", err)
	}
	m.notes = c.notes.List()
	for _, note := range m.notes {
		parts = append(parts, []byte(note))
	}
	m.version = version(parts...)
	return m
}

// judge notes what is likely a mistake about all methods: patterns that match nothing, and methods that nothing is said of.
func (c *catalog) judge(pick *selection, methods []*method) {
	for _, p := range pick.include {
		if !pick.used[p] {
			c.note("include %q selects no method", p)
		}
	}
	for _, p := range pick.exclude {
		if !pick.used[p] {
			c.note("exclude %q excludes nothing: check its spelling, a pattern is package.Service/Method or package.Service", p)
		}
	}
	silent := func(m *method) bool { return m.options.GetDescription() == "" && schema.Comment(m.desc) == "" }
	if len(methods) > 0 && !slices.ContainsFunc(methods, func(m *method) bool { return !silent(m) }) {
		c.note("no method has a comment, so that models guess what each does by its name: server reflection leaves comments out; " +
			"give a descriptor-set with them, or options of mcpedge.options.v1")
	}
}

// methods are those of a service that become tools.
func (c *catalog) methods(service protoreflect.ServiceDescriptor, pick *selection, lacks lacking) (out []*method) {
	about, err := schema.Private[*optionspb.ServiceToolOptions](service, optionspb.E_Service)
	c.unread(err)
	prefix := about.GetPrefix()
	if prefix != "" && !validName(prefix, maxName) {
		c.note("service %s: the prefix %q is not of [A-Za-z0-9_.-], and is not used", service.FullName(), prefix)
		prefix = ""
	}
	for i := range service.Methods().Len() {
		desc := service.Methods().Get(i)
		m := &method{desc: desc, full: string(service.FullName()) + "/" + string(desc.Name()), prefix: prefix, tool: &pb.Tool{}}
		picked := pick.method(m.full)
		m.options, err = schema.Private[*optionspb.ToolOptions](desc, optionspb.E_Tool)
		c.unread(err)
		if !picked || about.GetHidden() || m.options.GetHidden() {
			continue
		}
		if desc.IsStreamingClient() {
			c.note("method %s takes a stream of messages, and is no tool", m.full)
			continue
		}
		if name := lacks.of(desc.Input()); name != "" {
			c.note("method %s takes a %s, which is not described, and is no tool", m.full, name)
			continue
		}
		if name := lacks.of(desc.Output()); name != "" {
			c.note("method %s gives a %s, which is not described, and is no tool", m.full, name)
			continue
		}
		out = append(out, m)
	}
	return out
}

// unread notes an option that cannot be read; nil: nothing.
func (c *catalog) unread(err error) {
	if err != nil {
		c.note("%v, and is not used", err)
	}
}

// maxSchema is what the edge reads of a schema; a larger one goes unchecked.
const maxSchema = 256 << 10

// schemas writes schemas, each once.
type schemas struct {
	meter *limit.Meter
	known map[schemaOf]schema.Schema
	// open is how many schemas are open for the bound why.
	open int
	why  error
}

// schemaOf says what a schema is of.
type schemaOf struct {
	message protoreflect.FullName
	input   bool
}

// of returns the schema of what a method takes (input) or gives.
func (s *schemas) of(md protoreflect.MessageDescriptor, input bool) schema.Schema {
	key := schemaOf{md.FullName(), input}
	if known, there := s.known[key]; there && s.meter.Schema(len(known.JSON)) {
		return known
	}
	write := schema.Output
	if input {
		write = schema.Input
	}
	made := write(md, s.meter)
	s.known[key] = made
	if made.Open != nil {
		s.open, s.why = s.open+1, made.Open
	}
	return made
}

// describe fills the tool in, whose name is set.
func (m *method) describe(written *schemas) {
	t := m.tool
	if t.Title = limit.Clip(m.options.GetTitle(), limit.MaxName); t.Title == "" {
		t.Title = words(string(m.desc.Name()))
	}
	t.Description = m.description()
	t.Annotations = m.annotations()
	in, out := written.of(m.desc.Input(), true), schema.Schema{}
	switch {
	case !m.operates:
		out = written.of(m.desc.Output(), false)
	case m.response != nil:
		out = written.of(m.response, false)
	}
	t.InputSchemaJson, t.OutputSchemaJson = in.JSON, out.JSON
	m.notes = append(append(m.notes, in.Notes...), out.Notes...)
	if len(in.JSON) > maxSchema || len(out.JSON) > maxSchema {
		m.notes = append(m.notes, "its schemas are larger than the edge checks arguments and results by")
	}
	meta, err := json.Marshal(map[string]string{"io.mcpedge/method": m.full})
	if err == nil {
		t.MetaJson = string(meta)
	}
}

// follows makes the tool one that gives what the method's operations end with, and whose calls may become tasks.
func (m *method) follows(all *model, lacks lacking) {
	if all.operations == nil {
		m.note("it gives an operation, but the target does not serve %s, so that the operation is its result", operationsService)
		return
	}
	m.operates = true
	m.response = m.responseOf(all.types, lacks)
	m.tool.TaskSupport = &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_OPTIONAL}
}

// description is what the model is told.
func (m *method) description() string {
	text := limit.Clip(m.options.GetDescription(), limit.MaxText)
	if text == "" {
		text = schema.Comment(m.desc)
	}
	if text == "" {
		text = "Calls the gRPC method " + m.full + "."
		if about := schema.Comment(m.desc.Parent()); about != "" {
			text += "\n" + about
		}
	}
	if m.desc.IsStreamingServer() {
		text += "\nAnswers with a stream: its messages are reported as progress, the last one is the result."
	}
	if options, ok := m.desc.Options().(*descriptorpb.MethodOptions); ok && options.GetDeprecated() {
		text += "\nDeprecated."
	}
	return strings.TrimSpace(limit.Clip(strings.ToValidUTF8(text, "\uFFFD"), limit.MaxText))
}

// annotations are the hints, by the options, else by the method's idempotency_level.
func (m *method) annotations() *pb.ToolAnnotations {
	o := m.options
	a := &pb.ToolAnnotations{}
	if o != nil {
		a.ReadOnly, a.Destructive, a.Idempotent, a.OpenWorld = o.ReadOnly, o.Destructive, o.Idempotent, o.OpenWorld
	}
	options, _ := m.desc.Options().(*descriptorpb.MethodOptions)
	switch options.GetIdempotencyLevel() {
	case descriptorpb.MethodOptions_NO_SIDE_EFFECTS:
		if a.ReadOnly == nil {
			a.ReadOnly = proto.Bool(true)
		}
	case descriptorpb.MethodOptions_IDEMPOTENT:
		if a.Idempotent == nil {
			a.Idempotent = proto.Bool(true)
		}
	}
	if proto.Size(a) == 0 {
		return nil
	}
	return a
}
