package schema

import (
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	optionspb "github.com/mcpedge/mcpedge/gen/mcpedge/options/v1"
)

// Comment returns the source comment of a declaration without directives for tools. It is empty if
// there is none, or if the descriptors have no source information.
func Comment(d protoreflect.Descriptor) string {
	loc := d.ParentFile().SourceLocations().ByDescriptor(d)
	text := loc.LeadingComments
	if strings.TrimSpace(text) == "" {
		text = loc.TrailingComments
	}
	var kept strings.Builder
	for rest, found := limit.Clip(text, limit.MaxText), true; found; { // remarks between (-- and --) are for the API's authors
		text, rest, found = strings.Cut(rest, "(--")
		kept.WriteString(text)
		_, rest, _ = strings.Cut(rest, "--)")
	}
	text = kept.String()
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "buf:lint:") && !strings.HasPrefix(line, "@exclude") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func describe(d protoreflect.Descriptor) string { return Comment(d) }

// maxValues bounds how many values of an enum are described.
const maxValues = 64

// describeEnum returns the comments of an enum and of its values.
func describeEnum(ed protoreflect.EnumDescriptor) string {
	text := Comment(ed)
	if ed.Values().Len() > maxValues {
		return text
	}
	var lines []string
	for i, size := 0, 0; i < ed.Values().Len() && size < limit.MaxText; i++ {
		if about := Comment(ed.Values().Get(i)); about != "" {
			size += len(about)
			lines = append(lines, string(ed.Values().Get(i).Name())+": "+strings.ReplaceAll(about, "\n", " "))
		}
	}
	return join(text, strings.Join(lines, "\n"))
}

// describeField returns the description in a field's option, or else its comment.
func (g *generator) describeField(fd protoreflect.FieldDescriptor) string {
	said, err := Private[*optionspb.FieldToolOptions](fd, optionspb.E_Field)
	if err != nil {
		g.note("%v, and is not used", err)
	}
	if text := strings.TrimSpace(said.GetDescription()); text != "" {
		return text
	}
	return Comment(fd)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// decorate adds attributes of a field's declaration to its schema.
func (g *generator) decorate(s *object, fd protoreflect.FieldDescriptor) *object {
	behavior := behaviors(fd)
	about := g.describeField(fd)
	if slices.Contains(behavior, annotations.FieldBehavior_IMMUTABLE) {
		about = join(about, "Cannot be changed once it is set.")
	}
	ed := fd.Enum()
	if fd.IsMap() {
		ed = fd.MapValue().Enum()
	}
	if ed != nil {
		about = join(about, describeEnum(ed))
	}
	if about != "" {
		about = limit.Clip(about, limit.MaxText)
		g.size += len(about)
		s.first("description", about)
	}
	if g.input && slices.Contains(behavior, annotations.FieldBehavior_OUTPUT_ONLY) {
		s.set("readOnly", true)
	}
	if !g.input && slices.Contains(behavior, annotations.FieldBehavior_INPUT_ONLY) {
		s.set("writeOnly", true)
	}
	if options, ok := fd.Options().(*descriptorpb.FieldOptions); ok && options.GetDeprecated() {
		s.set("deprecated", true)
	}
	return s
}
