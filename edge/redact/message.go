package redact

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// kept are the fields of the contract that clients send back, or that select a behaviour: they are not replaced. All other texts are, those
// of later versions of the contract included.
var kept = map[protoreflect.FullName]bool{
	"mcpedge.v1.Resource.uri": true, "mcpedge.v1.Resource.mime_type": true,
	"mcpedge.v1.ResourceContents.uri": true, "mcpedge.v1.ResourceContents.mime_type": true,
	"mcpedge.v1.ImageContent.mime_type": true, "mcpedge.v1.AudioContent.mime_type": true,
	"mcpedge.v1.Icon.src": true, "mcpedge.v1.Icon.mime_type": true, "mcpedge.v1.Icon.sizes": true, "mcpedge.v1.Icon.theme": true,
	"mcpedge.v1.Annotations.last_modified": true,
	"mcpedge.v1.InputRequest.key":          true, "mcpedge.v1.ElicitUrl.url": true,
	"mcpedge.v1.ToolUse.id": true, "mcpedge.v1.ToolUse.name": true, "mcpedge.v1.ToolResult.tool_use_id": true, "mcpedge.v1.Tool.name": true,
	"mcpedge.v1.CreateMessage.include_context": true, "mcpedge.v1.CreateMessage.tool_choice_mode": true, "mcpedge.v1.ModelPreferences.hints": true,
	"mcpedge.v1.LogMessage.logger": true,
	"mcpedge.v1.Skill.uri":         true, "mcpedge.v1.SkillFile.uri": true,
	"mcpedge.v1.ListResourceDirectoryResponse.next_page_token": true,
}

// Message replaces secrets in the texts of a message of the contract, in place. Bytes are not searched.
func (v *View) Message(m proto.Message) {
	if v == nil || m == nil || !m.ProtoReflect().IsValid() {
		return
	}
	p := pass{v: v, left: maxWork}
	p.message(m.ProtoReflect())
}

func (p *pass) message(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case kept[f.FullName()]:
		case f.IsMap():
			p.mapped(f, value.Map())
		case f.IsList():
			p.list(f, value.List())
		case f.Kind() == protoreflect.MessageKind:
			p.message(value.Message())
		case f.Kind() == protoreflect.StringKind:
			if text := value.String(); text != "" {
				if masked := p.field(f, text); masked != text {
					m.Set(f, protoreflect.ValueOfString(masked))
				}
			}
		}
		return true
	})
}

func (p *pass) list(f protoreflect.FieldDescriptor, l protoreflect.List) {
	for i := range l.Len() {
		switch f.Kind() {
		case protoreflect.MessageKind:
			p.message(l.Get(i).Message())
		case protoreflect.StringKind:
			l.Set(i, protoreflect.ValueOfString(p.field(f, l.Get(i).String())))
		}
	}
}

func (p *pass) mapped(f protoreflect.FieldDescriptor, m protoreflect.Map) {
	of := f.MapValue()
	m.Range(func(k protoreflect.MapKey, value protoreflect.Value) bool {
		switch of.Kind() {
		case protoreflect.MessageKind:
			p.message(value.Message())
		case protoreflect.StringKind:
			m.Set(k, protoreflect.ValueOfString(p.field(f, value.String())))
		}
		return true
	})
}

// field returns the text of a field without its secrets. A field whose name ends with _json has JSON.
func (p *pass) field(f protoreflect.FieldDescriptor, text string) string {
	switch name := string(f.Name()); {
	case !strings.HasSuffix(name, "_json"):
		return p.text(text, resultDocument, false)
	case name == "structured_content_json":
		return p.json(text, resultDocument)
	case name == "input_json":
		return p.json(text, argumentsDocument)
	case name == "raw_json":
		return p.json(text, anyDocument)
	}
	return p.json(text, otherDocument)
}
