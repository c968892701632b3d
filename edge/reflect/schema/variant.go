package schema

import "google.golang.org/protobuf/reflect/protoreflect"

// variant modifies the schema of a message depending on where it is used.
type variant struct {
	// unruled disables protovalidate's rules (IGNORE_ALWAYS).
	unruled bool
	// partial makes all fields optional, because a field mask next to the message selects those
	// that count.
	partial bool
}

// suffix returns the suffix of the message's name in $defs.
func (v variant) suffix() (out string) {
	if v.unruled {
		out += "-unruled"
	}
	if v.partial {
		out += "-partial"
	}
	return out
}

// variantOf returns the variant for the message in a field, or in an element of it, with the rules of
// the field or element. A mask does not apply within lists and maps: their elements are complete.
func (g *generator) variantOf(fd protoreflect.FieldDescriptor, rules *ruleSet) variant {
	v := variant{unruled: g.as.unruled || rules.disabled()}
	if parent := fd.ContainingMessage(); !fd.IsList() && !parent.IsMapEntry() {
		v.partial = g.input && (g.as.partial || g.mask)
	}
	return v
}

// hasUpdateMask reports whether a field of the message is an update mask (AIP-134). A field named
// read_mask selects fields of the response instead (AIP-157).
func hasUpdateMask(md protoreflect.MessageDescriptor) bool {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if fd.Message() != nil && fd.Message().FullName() == "google.protobuf.FieldMask" && !fd.IsList() && fd.Name() != "read_mask" {
			return true
		}
	}
	return false
}
