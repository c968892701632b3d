package reflect

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// learnFile learns from a descriptor set of one file.
func learnFile(t *testing.T, fd *descriptorpb.FileDescriptorProto, opts Options) *model {
	t.Helper()
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{fd}})
	if err != nil {
		t.Fatal(err)
	}
	opts.DescriptorSet = func() ([]byte, error) { return raw, nil }
	m, err := learnBy(t.Context(), nil, &opts, nil, nil, limit.New(t.Context(), nil))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What stands before the names of tools counts into their length.
func TestPrefixCountsIntoNames(t *testing.T) {
	fd := file("shop.proto", 2, message("M0", ""))
	fd.Service[0].Name = proto.String(strings.Repeat("Long", 14))
	for prefix, room := range map[string]int{"": 64, "shop_": 59, strings.Repeat("p", 40): 24, strings.Repeat("p", 63): minRoom} {
		m := learnFile(t, fd, Options{Prefix: prefix})
		if len(m.tools) != 2 || m.tools[0].GetName() == m.tools[1].GetName() {
			t.Fatalf("%q: %v", prefix, m.tools)
		}
		for _, tool := range m.tools {
			if n := len(tool.GetName()); n != room || !validName(tool.GetName(), maxName) {
				t.Errorf("behind %d bytes: the name %q has %d bytes, %d are left", len(prefix), tool.GetName(), n, room)
			}
		}
	}
}

// Fields that share a JSON name go by their own names, so that each can be reached.
func TestFieldsOfOneJSONName(t *testing.T) {
	for name, c := range map[string]struct {
		fields, want []string
		json         map[string]string
	}{
		"case":              {fields: []string{"eventType", "event_type"}, want: []string{"eventType", "event_type"}},
		"the other order":   {fields: []string{"event_type", "eventType", "other_one"}, want: []string{"event_type", "eventType", "otherOne"}},
		"a chosen name":     {fields: []string{"a", "b"}, json: map[string]string{"b": "a"}, want: []string{"a", "b"}},
		"one after another": {fields: []string{"a_b", "aB", "c"}, json: map[string]string{"c": "a_b"}, want: []string{"a_b", "aB", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			m0 := message("M0", make([]string, len(c.fields))...)
			for i, field := range c.fields {
				m0.Field[i].Name = proto.String(field)
				if json := c.json[field]; json != "" {
					m0.Field[i].JsonName = proto.String(json)
				}
			}
			fd := file("shop.proto", 1, m0)
			m := learnFile(t, fd, Options{})
			if len(m.tools) != 1 {
				t.Fatalf("notes: %q", m.notes)
			}
			for _, want := range c.want {
				for _, s := range []string{m.tools[0].GetInputSchemaJson(), m.tools[0].GetOutputSchemaJson()} {
					if !strings.Contains(s, `"`+want+`":{"type":"string"}`) {
						t.Errorf("no member %s: %s", want, s)
					}
				}
			}
			if notes := strings.Join(m.notes, "\n"); !strings.Contains(notes, "message p.M0: fields have one JSON name, and go by their own names") {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}
