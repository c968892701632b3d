package schema

import (
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Patterns of Duration as protojson reads it, and of FieldMask with paths in either case and with
// asterisks, as services accept them (AIP-161).
const (
	durationPattern  = `^[-+]?(?:[0-9]+(?:\.[0-9]{0,9})?|\.[0-9]{1,9})s$`
	fieldMaskPattern = `^(?:[A-Za-z0-9_*]+(?:\.[A-Za-z0-9_*]+)*(?:,[A-Za-z0-9_*]+(?:\.[A-Za-z0-9_*]+)*)*)?$`
)

// wellKnownTypes are the messages with a special JSON form. object means that the form is always an
// object.
var wellKnownTypes = map[protoreflect.FullName]struct{ object bool }{
	"google.protobuf.Any":         {true},
	"google.protobuf.Struct":      {true},
	"google.protobuf.Empty":       {true},
	"google.protobuf.Timestamp":   {},
	"google.protobuf.Duration":    {},
	"google.protobuf.FieldMask":   {},
	"google.protobuf.Value":       {},
	"google.protobuf.ListValue":   {},
	"google.protobuf.BoolValue":   {},
	"google.protobuf.Int32Value":  {},
	"google.protobuf.UInt32Value": {},
	"google.protobuf.Int64Value":  {},
	"google.protobuf.UInt64Value": {},
	"google.protobuf.FloatValue":  {},
	"google.protobuf.DoubleValue": {},
	"google.protobuf.StringValue": {},
	"google.protobuf.BytesValue":  {},
}

// IsWellKnown reports whether a message has a special JSON form.
func IsWellKnown(md protoreflect.MessageDescriptor) bool {
	_, ok := wellKnownTypes[md.FullName()]
	return ok
}

// Wrapped reports whether the JSON of a message is not an object, so that it becomes the member
// Wrapper.
func Wrapped(md protoreflect.MessageDescriptor) bool {
	t, ok := wellKnownTypes[md.FullName()]
	return ok && !t.object
}

// wellKnown returns the schema of a message with a special JSON form, or nil.
func (g *generator) wellKnown(md protoreflect.MessageDescriptor, rules *ruleSet) *object {
	if !IsWellKnown(md) {
		return nil
	}
	switch md.Name() {
	case "Any":
		return g.anything(rules)
	case "Struct":
		return obj("type", "object")
	case "Empty":
		s := obj("type", "object", "properties", obj())
		if g.input {
			s.set("additionalProperties", false)
		}
		return s
	case "Value":
		return obj()
	case "ListValue":
		return obj("type", "array")
	case "Timestamp":
		rules.noteUnenforced(g, "timestamp")
		return obj("type", "string", "format", "date-time")
	case "Duration":
		rules.noteUnenforced(g, "duration")
		return obj("type", "string", "pattern", durationPattern)
	case "FieldMask":
		rules.noteUnenforced(g, "field_mask")
		return obj("type", "string", "pattern", fieldMaskPattern)
	}
	return g.scalar(md.Fields().ByName("value"), rules) // a wrapper
}

// noteUnenforced notes all rules of a type: a schema cannot express its comparisons.
func (r *ruleSet) noteUnenforced(g *generator, name string) {
	r.each(g, r.of(g, name), func(string, protoreflect.Value) bool { return false })
}

// anything returns the schema of an Any: a message with the URL of its type.
func (g *generator) anything(rules *ruleSet) *object {
	url := obj("type", "string", "description", "URL of the message's type, such as type.googleapis.com/google.protobuf.Duration")
	typed := false
	rules.each(g, rules.of(g, "any"), func(name string, v protoreflect.Value) bool {
		switch name {
		case "in":
			url.and(obj("enum", texts(v.List())))
			typed = true
		case "not_in":
			url.and(obj("not", obj("enum", texts(v.List()))))
		default:
			return false
		}
		return true
	})
	s := obj("type", "object", "properties", obj("@type", url))
	if typed {
		s.set("required", []any{"@type"})
	}
	return s
}
