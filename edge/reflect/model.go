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

// model has the tools of a target. It is immutable. Its room is released after it was replaced and
// the last call has stopped using it, see Adapter.use.
type model struct {
	// version is a digest: equal for equal tools.
	version string
	// source is the digest of the catalog that it was built from.
	source [sha256.Size]byte
	// tools are in the order of their methods' full names.
	tools   []*pb.Tool
	methods map[string]*method
	types   resolver
	// any has types for google.protobuf.Any that types does not have.
	any *anyTypes
	// codec decodes answers with types.
	codec codec
	// operations are the methods for long-running operations; nil if the target does not serve
	// them.
	operations *operations
	notes      []string
	// room accounts for its memory; nil disables that.
	room *limit.Room
}

// method is a method that became a tool.
type method struct {
	desc protoreflect.MethodDescriptor
	// full is "package.Service/Method".
	full    string
	prefix  string
	options *optionspb.ToolOptions
	tool    *pb.Tool
	// operates reports that it starts a long-running operation, which the call follows. response is
	// the type of its result; nil if unknown.
	operates bool
	response protoreflect.MessageDescriptor
	notes    []string
}

// repeatable reports whether the method is idempotent.
func (m *method) repeatable() bool {
	hints := m.tool.GetAnnotations()
	return hints.GetIdempotent() || hints.GetReadOnly()
}

func (m *method) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// build creates the tools of a catalog. prefix is prepended to their names by the edge.
func build(c *catalog, pick *selection, prefix string) *model {
	c.removeForeignOptions()
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
	c.noteMistakes(pick, methods)
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
			one.followOperations(m, lacks)
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

// noteMistakes notes likely mistakes: patterns that match nothing, and methods without a description.
func (c *catalog) noteMistakes(pick *selection, methods []*method) {
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

// methods returns the methods of a service that become tools.
func (c *catalog) methods(service protoreflect.ServiceDescriptor, pick *selection, lacks lacking) (out []*method) {
	about, err := schema.Private[*optionspb.ServiceToolOptions](service, optionspb.E_Service)
	c.noteUnreadable(err)
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
		c.noteUnreadable(err)
		if !picked || about.GetHidden() || m.options.GetHidden() {
			continue
		}
		if desc.IsStreamingClient() {
			c.note("method %s takes a stream of messages, and is not a tool", m.full)
			continue
		}
		if name := lacks.of(desc.Input()); name != "" {
			c.note("method %s takes a %s, which is not described, and is not a tool", m.full, name)
			continue
		}
		if name := lacks.of(desc.Output()); name != "" {
			c.note("method %s gives a %s, which is not described, and is not a tool", m.full, name)
			continue
		}
		out = append(out, m)
	}
	return out
}

// noteUnreadable notes an option that cannot be decoded. It ignores nil.
func (c *catalog) noteUnreadable(err error) {
	if err != nil {
		c.note("%v, and is not used", err)
	}
}

// maxSchema is the largest schema that the edge compiles. Arguments are not checked against a
// larger one.
const maxSchema = 256 << 10

// schemas generates schemas and caches them.
type schemas struct {
	meter *limit.Meter
	known map[schemaOf]schema.Schema
	// open is the number of schemas that accept everything because of the bound why.
	open int
	why  error
}

// schemaOf is the key of a cached schema.
type schemaOf struct {
	message protoreflect.FullName
	input   bool
}

// of returns the schema of a method's request (input) or response.
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

// describe sets the fields of the tool, except its name.
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

// followOperations makes the tool one that returns the result of the method's operations, and whose calls
// may become tasks.
func (m *method) followOperations(all *model, lacks lacking) {
	if all.operations == nil {
		m.note("it gives an operation, but the target does not serve %s, so that the operation is its result", operationsService)
		return
	}
	m.operates = true
	m.response = m.responseOf(all.types, lacks)
	m.tool.TaskSupport = &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_OPTIONAL}
}

// description returns the description of the tool.
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

// annotations returns the hints of the tool: from its options, or else from the method's
// idempotency_level.
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
