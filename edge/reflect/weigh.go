package reflect

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	"github.com/mcpedge/mcpedge/internal/wire"
)

// answer is a message of the target in its encoding. It is read once it is known what that costs: two bytes of it can become a
// message of many fields, each with its default value in JSON.
type answer struct{ raw []byte }

// read decodes an answer of a type. The error is the bound that it exceeds, or why it cannot be decoded.
func (c *call) read(md protoreflect.MessageDescriptor, a answer) (*dynamicpb.Message, error) {
	s := &scale{types: c.types(), most: c.a.opts.MaxBytes, bases: map[protoreflect.FullName]int{}}
	if err := s.message(md, a.raw, 0); err != nil {
		return nil, fmt.Errorf("%s was called, but its answer %w: ask for less", c.method.full, err)
	}
	if err := c.hold(int64(s.memory) + asJSON*int64(s.json)); err != nil {
		return nil, err
	}
	m := dynamicpb.NewMessage(md)
	if err := (proto.UnmarshalOptions{Resolver: c.model.types}).Unmarshal(a.raw, m); err != nil {
		return nil, fmt.Errorf("%s was called, but its answer cannot be read: %s", c.method.full, plain(err))
	}
	return m, nil
}

// text is a field of a text, without what is not decoded of the answer; empty: it is not set.
func (a answer) text(fd protoreflect.FieldDescriptor) (text []byte) {
	for f := range wire.Fields(a.raw) {
		if f.Number == fd.Number() && f.Type == protowire.BytesType {
			text = f.Content()
		}
	}
	return text
}

const (
	// asJSON is how often the JSON of an answer is in memory at a time, about.
	asJSON = 3
	// light is the weight up to which answers do not wait for others.
	light = 1 << 20
)

// hold waits until the answers that are read for other calls of the backend leave room for one of a weight, which the call holds
// until it reads the next one or ends. It fails when the call's context ends.
func (c *call) hold(weight int64) error {
	c.letGo()
	if weight <= light {
		return nil
	}
	weight = min(weight, limit.MaxAnswersMemory)
	if err := c.a.answers.Acquire(c.events.ctx, weight); err != nil {
		return err
	}
	c.held = weight
	return nil
}

// letGo ends what hold began.
func (c *call) letGo() {
	c.a.answers.Release(c.held)
	c.held = 0
}

const (
	// messageBytes and valueBytes are about what a decoded message, and a value in one, take in memory beside their content.
	messageBytes = 400
	valueBytes   = 48
)

// scale adds up what an answer costs, from its encoding.
type scale struct {
	types types
	// most is the bound of the JSON (max-message).
	most int
	// memory and json are about the bytes that the answer takes when it is decoded, and as JSON.
	memory, json int
	// anys is how many google.protobuf.Any lead to what is being weighed.
	anys int
	// bases are what messages without a set field have as JSON, by type.
	bases map[protoreflect.FullName]int
}

// add counts memory and JSON. The error is the bound that they exceed. The size as JSON is an estimate: where it is exact, that of the JSON itself is
// compared with the bound.
func (s *scale) add(memory, json int) error {
	s.memory += memory
	s.json += json
	switch {
	case s.json > 2*s.most:
		return fmt.Errorf("has more than %d bytes as JSON, with its default values (the backend's max-message)", s.most)
	case s.memory > limit.MaxAnswerMemory:
		return fmt.Errorf("has so many messages and values that it takes more than %d bytes of memory", limit.MaxAnswerMemory)
	}
	return nil
}

// message weighs a message in its encoding, which it does not check: decoding does.
func (s *scale) message(md protoreflect.MessageDescriptor, raw []byte, depth int) error {
	if depth > limit.MaxDepth {
		return fmt.Errorf("nests messages more than %d deep", limit.MaxDepth)
	}
	if err := s.add(messageBytes, s.base(md)); err != nil {
		return err
	}
	var url string
	var inside []byte
	isAny := md.FullName() == "google.protobuf.Any"
	for f := range wire.Fields(raw) {
		var err error
		if fd := s.field(md, f.Number); fd == nil || isAny && f.Number == 2 { // It is kept as it is; what an Any holds is weighed below.
			err = s.add(f.Size, 0)
		} else {
			err = s.value(fd, f, depth)
		}
		if err != nil {
			return err
		}
		if isAny && f.Type == protowire.BytesType {
			switch f.Number {
			case 1:
				url = string(f.Content())
			case 2:
				inside = f.Content()
			}
		}
	}
	if !isAny || url == "" {
		return nil
	}
	t, err := s.types.FindMessageByURL(url)
	if err != nil {
		return nil // it is left out
	}
	if s.anys++; s.anys > maxAny {
		return fmt.Errorf("has more than %d google.protobuf.Any in one another", maxAny)
	}
	defer func() { s.anys-- }()
	return s.message(t.Descriptor(), inside, depth+1)
}

// field finds a field or an extension; nil: there is none.
func (s *scale) field(md protoreflect.MessageDescriptor, number protowire.Number) protoreflect.FieldDescriptor {
	if fd := md.Fields().ByNumber(number); fd != nil {
		return fd
	}
	if !md.ExtensionRanges().Has(number) {
		return nil
	}
	x, err := s.types.FindExtensionByNumber(md.FullName(), number)
	if err != nil {
		return nil
	}
	return x.TypeDescriptor()
}

// value weighs one occurrence of a field: a value, or a packed list of them.
func (s *scale) value(fd protoreflect.FieldDescriptor, f wire.Field, depth int) error {
	name := 0
	if !fd.IsList() {
		name = len(fd.JSONName()) + len(`"":,`)
	}
	switch {
	case fd.Message() != nil && (f.Type == protowire.BytesType || f.Type == protowire.StartGroupType):
		if err := s.add(valueBytes, name); err != nil {
			return err
		}
		return s.message(fd.Message(), f.Content(), depth+1)
	case f.IsPacked(fd):
		return s.packed(fd, f.Content())
	}
	return s.add(valueBytes+len(f.Value), name+s.scalar(fd, f.Value))
}

// packed weighs a packed list.
func (s *scale) packed(fd protoreflect.FieldDescriptor, raw []byte) error {
	for len(raw) > 0 {
		n := protowire.ConsumeFieldValue(1, wire.TypeOf(fd.Kind()), raw)
		if n <= 0 {
			return nil
		}
		if err := s.add(valueBytes, s.scalar(fd, raw[:n])+len(",")); err != nil {
			return err
		}
		raw = raw[n:]
	}
	return nil
}

// scalar is about how long a value is as JSON, at the least.
func (s *scale) scalar(fd protoreflect.FieldDescriptor, raw []byte) int {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return len(raw)
	case protoreflect.BytesKind:
		return len(raw) * 4 / 3
	case protoreflect.BoolKind:
		return len("true")
	case protoreflect.EnumKind:
		if v, n := protowire.ConsumeVarint(raw); n > 0 {
			if named := fd.Enum().Values().ByNumber(protoreflect.EnumNumber(int32(v))); named != nil { // #nosec G115 -- as enums are decoded
				return len(named.Name()) + len(`""`)
			}
		}
	}
	return 1
}

// base is the length of a message as JSON in which no field is set: fields without presence have their defaults.
func (s *scale) base(md protoreflect.MessageDescriptor) int {
	if n, known := s.bases[md.FullName()]; known {
		return n
	}
	n := len(`{},`)
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if fd.HasPresence() {
			continue
		}
		n += len(fd.JSONName()) + len(`"":0,`)
		if fd.Kind() == protoreflect.EnumKind && !fd.IsList() {
			if named := fd.Enum().Values().ByNumber(0); named != nil {
				n += len(named.Name())
			}
		}
	}
	s.bases[md.FullName()] = n
	return n
}
