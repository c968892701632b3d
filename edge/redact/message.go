package redact

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// kept are the fields of the contract that clients send back, or that select a behaviour. They are
// not replaced. All other texts are, including those of fields that the contract gets later.
var kept = map[protoreflect.FullName]bool{
	"mcpedge.v1.Resource.uri": true, "mcpedge.v1.Resource.mime_type": true,
	"mcpedge.v1.ResourceContents.uri": true, "mcpedge.v1.ResourceContents.mime_type": true,
	"mcpedge.v1.ImageContent.mime_type": true, "mcpedge.v1.AudioContent.mime_type": true,
	"mcpedge.v1.Icon.src": true, "mcpedge.v1.Icon.mime_type": true, "mcpedge.v1.Icon.sizes": true, "mcpedge.v1.Icon.theme": true,
	"mcpedge.v1.Annotations.last_modified": true,
	"mcpedge.v1.InputRequest.key":          true, "mcpedge.v1.ElicitUrl.url": true,
	"mcpedge.v1.ToolUse.id": true, "mcpedge.v1.ToolUse.name": true, "mcpedge.v1.ToolResult.tool_use_id": true, "mcpedge.v1.Tool.name": true,
	"mcpedge.v1.CreateMessage.include_context": true, "mcpedge.v1.CreateMessage.tool_choice_mode": true, "mcpedge.v1.ModelPreferences.hints": true,
	"mcpedge.v1.Skill.uri": true, "mcpedge.v1.SkillFile.uri": true,
	"mcpedge.v1.ListResourceDirectoryResponse.next_page_token": true,
}

// Message replaces secrets in the texts of a message of the contract, in place. It does not search
// fields of bytes.
func (v *View) Message(m proto.Message) {
	if v == nil || m == nil || !m.ProtoReflect().IsValid() {
		return
	}
	p := v.pass()
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

// field returns the text of a field without its secrets. If the field's name ends with _json, the
// text is JSON.
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
	case name == "requested_schema_json":
		return p.form(text)
	}
	return p.json(text, otherDocument)
}

// form returns the schema of a form without its secrets. It removes a default that has a secret,
// because the client would send the replacement as the user's answer.
func (p *pass) form(text string) string {
	masked := p.json(text, formDocument)
	if masked == text {
		return text
	}
	const properties, preset = "properties", "default"
	before, _ := jsonrpc.Member(json.RawMessage(text), properties)
	return string(members(json.RawMessage(masked), func(name string, fields json.RawMessage) json.RawMessage {
		if name != properties {
			return fields
		}
		return members(fields, func(name string, field json.RawMessage) json.RawMessage {
			was, _ := jsonrpc.Member(before, name)
			return members(field, func(key string, value json.RawMessage) json.RawMessage {
				if old, _ := jsonrpc.Member(was, key); key == preset && !bytes.Equal(old, value) {
					return nil
				}
				return value
			})
		})
	}))
}

// members replaces the value of each member of an object by the result of of. It removes a member
// if the result is nil. It returns other JSON values unchanged.
func members(object json.RawMessage, of func(name string, value json.RawMessage) json.RawMessage) json.RawMessage {
	if jsonrpc.TypeOf(object) != jsonrpc.Object {
		return object
	}
	out := []byte{'{'}
	err := jsonrpc.Members(object, func(name string, value json.RawMessage) error {
		if value = of(name, value); value != nil {
			out = jsonrpc.AppendMember(out, name, value)
		}
		return nil
	})
	if err != nil {
		return object
	}
	return append(out, '}')
}
