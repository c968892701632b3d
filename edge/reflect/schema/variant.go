package schema

import "google.golang.org/protobuf/reflect/protoreflect"

// variant is how the place where a message is used changes its schema.
type variant struct {
	// unruled: protovalidate's rules are turned off (IGNORE_ALWAYS).
	unruled bool
	// partial: a field mask beside the message says which of its fields count, so that none of them must be there.
	partial bool
}

// suffix follows the message's name in $defs.
func (v variant) suffix() (out string) {
	if v.unruled {
		out += "-unruled"
	}
	if v.partial {
		out += "-partial"
	}
	return out
}

// inside is how a message is described that is the value of a field, or an element of it, with the field's or the element's
// rules. A mask does not reach into lists and maps: their elements are whole.
func (g *generator) inside(fd protoreflect.FieldDescriptor, rules *ruleSet) variant {
	v := variant{unruled: g.as.unruled || rules.off()}
	if parent := fd.ContainingMessage(); !fd.IsList() && !parent.IsMapEntry() {
		v.partial = g.input && (g.as.partial || g.mask)
	}
	return v
}

// masked reports whether a field of the message is a mask of what is to be updated (AIP-134). One that is named read_mask says
// what is to be answered (AIP-157).
func masked(md protoreflect.MessageDescriptor) bool {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if fd.Message() != nil && fd.Message().FullName() == "google.protobuf.FieldMask" && !fd.IsList() && fd.Name() != "read_mask" {
			return true
		}
	}
	return false
}
