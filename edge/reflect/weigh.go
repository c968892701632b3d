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

// answer is an encoded message of the target. It is decoded after its cost is known: two of its
// bytes can become a message of many fields, each with a default value in JSON.
type answer struct{ raw []byte }

// read decodes an answer. It returns an error if the answer exceeds a bound or is invalid.
func (c *call) read(md protoreflect.MessageDescriptor, a answer) (*dynamicpb.Message, error) {
	s := &scale{types: c.types(), most: c.a.opts.MaxBytes, bases: map[protoreflect.FullName]int{}}
	if err := s.message(md, a.raw, 0); err != nil {
		return nil, fmt.Errorf("%s was called, but its answer %w: request less", c.method.full, err)
	}
	if err := c.acquireMemory(int64(s.memory) + asJSON*int64(s.json)); err != nil {
		return nil, err
	}
	m := dynamicpb.NewMessage(md)
	if err := (proto.UnmarshalOptions{Resolver: c.model.types}).Unmarshal(a.raw, m); err != nil {
		return nil, fmt.Errorf("%s was called, but its answer cannot be read: %s", c.method.full, plain(err))
	}
	return m, nil
}

// text returns a field of type string without decoding the rest of the answer; empty if it is not
// set.
func (a answer) text(fd protoreflect.FieldDescriptor) (text []byte) {
	for f := range wire.Fields(a.raw) {
		if f.Number == fd.Number() && f.Type == protowire.BytesType {
			text = f.Content()
		}
	}
	return text
}

const (
	// asJSON is the approximate number of copies of an answer's JSON in memory.
	asJSON = 3
	// exemptBytes is the weight up to which an answer does not wait for others.
	exemptBytes = 1 << 20
)

// acquireMemory waits until there is memory for an answer of a weight besides the other answers of the
// backend. The call holds it until it reads the next answer or ends. It returns an error if the
// call's context ends.
func (c *call) acquireMemory(weight int64) error {
	c.releaseMemory()
	if weight <= exemptBytes {
		return nil
	}
	weight = min(weight, limit.MaxAnswersMemory)
	if err := c.a.answers.Acquire(c.events.ctx, weight); err != nil {
		return err
	}
	c.held = weight
	return nil
}

// releaseMemory releases what acquireMemory acquired.
func (c *call) releaseMemory() {
	c.a.answers.Release(c.held)
	c.held = 0
}

const (
	// messageBytes and valueBytes are the approximate memory overhead of a decoded message and of a
	// value in one.
	messageBytes = 400
	valueBytes   = 48
)

// scale sums up the cost of an answer from its encoding.
type scale struct {
	types types
	// most is the bound of the JSON (max-message).
	most int
	// memory and json are the approximate sizes of the decoded answer and of its JSON.
	memory, json int
	// anys is the number of google.protobuf.Any that enclose the current message.
	anys int
	// bases are the JSON sizes of messages without a set field, by type.
	bases map[protoreflect.FullName]int
}

// add adds memory and JSON. It returns an error if they exceed a bound. The size of the JSON is
// estimated; the actual JSON is checked again.
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

// message adds the cost of an encoded message. It ignores invalid encodings, which the decoder
// rejects.
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
		if fd := s.field(md, f.Number); fd == nil || isAny && f.Number == 2 { // kept encoded; the content of an Any is added below
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
		return fmt.Errorf("nests google.protobuf.Any more than %d deep", maxAny)
	}
	defer func() { s.anys-- }()
	return s.message(t.Descriptor(), inside, depth+1)
}

// field returns a field or an extension, or nil.
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

// value adds the cost of one occurrence of a field: a value, or a packed list.
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

// packed adds the cost of a packed list.
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

// scalar returns the approximate minimum length of a value in JSON.
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

// base returns the length of the JSON of a message without set fields: fields without presence have
// their defaults.
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
