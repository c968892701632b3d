//go:build !race

// These tests compute for long in one goroutine.

package reflect

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// distinct is a service of n methods that each take a message of their own, all of which have one with n fields.
func distinct(n int) *descriptorpb.FileDescriptorProto {
	all := []*descriptorpb.DescriptorProto{message("Large", make([]string, n)...)}
	for i := range n {
		all = append(all, message(fmt.Sprintf("M%d", i), ".p.Large"))
	}
	fd := file("a.proto", n, all...)
	for i, m := range fd.Service[0].Method {
		m.InputType = proto.String(fmt.Sprintf(".p.M%d", i))
	}
	return fd
}

// Whatever the descriptors say, the steps of learning them are at most linear in their bytes.
func TestLearningIsLinear(t *testing.T) {
	for name, shape := range map[string]func(n int) []*descriptorpb.FileDescriptorProto{
		"a chain": func(n int) []*descriptorpb.FileDescriptorProto {
			return []*descriptorpb.FileDescriptorProto{file("a.proto", 1, chain(n, 1)...)}
		},
		"a chain of which each is used twice": func(n int) []*descriptorpb.FileDescriptorProto {
			return []*descriptorpb.FileDescriptorProto{file("a.proto", 1, chain(n, 2)...)}
		},
		"methods that take messages of their own with one large one": func(n int) []*descriptorpb.FileDescriptorProto {
			return []*descriptorpb.FileDescriptorProto{distinct(n)}
		},
		"methods that all take a large message": func(n int) []*descriptorpb.FileDescriptorProto {
			return []*descriptorpb.FileDescriptorProto{file("a.proto", n, message("M0", make([]string, n)...))}
		},
		"methods with the chain": func(n int) []*descriptorpb.FileDescriptorProto {
			return []*descriptorpb.FileDescriptorProto{file("a.proto", n, chain(n, 2)...)}
		},
		"declarations within declarations": func(n int) []*descriptorpb.FileDescriptorProto {
			m := message("M0")
			for range min(n, limit.MaxDepth/2) {
				m = &descriptorpb.DescriptorProto{Name: proto.String("M0"), NestedType: []*descriptorpb.DescriptorProto{m}}
			}
			return []*descriptorpb.FileDescriptorProto{file("a.proto", 1, m)}
		},
		"layers of public imports": func(n int) (files []*descriptorpb.FileDescriptorProto) {
			for i := range min(n, 100) {
				for _, side := range []string{"l", "r"} {
					fd := file(fmt.Sprintf("%s%d.proto", side, i), 0, message(fmt.Sprintf("%s%d", side, i)))
					if i > 0 {
						fd.Dependency = []string{fmt.Sprintf("l%d.proto", i-1), fmt.Sprintf("r%d.proto", i-1)}
						fd.PublicDependency = []int32{0, 1}
					}
					files = append(files, fd)
				}
			}
			return append(files, file("z.proto", 1, message("M0")))
		},
		"what is not described": func(n int) []*descriptorpb.FileDescriptorProto {
			all := chain(n, 1)
			for i, m := range all {
				m.Field = append(m.Field, message("x", fmt.Sprintf(".q.X%d", i)).Field...)
				m.Field[len(m.Field)-1].Name, m.Field[len(m.Field)-1].Number = proto.String("gone"), proto.Int32(9)
			}
			return []*descriptorpb.FileDescriptorProto{file("a.proto", n, all...)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before int64
			for _, n := range []int{500, 1000, 2000} {
				_, meter, err := learnFrom(t, t.Context(), shape(n)...)
				if err != nil {
					t.Fatal(err)
				}
				steps, most := meter.Steps(), limit.FreeSteps+limit.StepsPerByte*int64(meter.Bytes())
				if steps > most+most/10 {
					t.Errorf("%d steps for %d bytes", steps, meter.Bytes())
				}
				if before > 0 && steps > 5*before/2+10_000 && steps < limit.FreeSteps {
					t.Errorf("%d steps for %d, %d for half of it", steps, n, before)
				}
				before = steps
			}
		})
	}
}

// Each bound of learning has a note, and where nothing is left learning fails with it.
func TestBoundsOfLearning(t *testing.T) {
	deep := message("D")
	for range limit.MaxDepth {
		deep = &descriptorpb.DescriptorProto{Name: proto.String("D"), NestedType: []*descriptorpb.DescriptorProto{deep}}
	}
	sound := file("sound.proto", 1, message("M0", ""))
	for name, c := range map[string]struct {
		files []*descriptorpb.FileDescriptorProto
		// lost: no tool is left.
		lost bool
		note string
	}{
		"messages":     {[]*descriptorpb.FileDescriptorProto{file("a.proto", 1, chain(limit.MaxElements, 1)...)}, true, "more than 300000 declarations"},
		"declarations": {[]*descriptorpb.FileDescriptorProto{sound, file("a.proto", 0, deep)}, false, `the file "a.proto" is not read: its declarations nest more than 128 deep`},
		"a name":       {[]*descriptorpb.FileDescriptorProto{sound, file("a.proto", 0, message(strings.Repeat("x", 600)))}, false, "has more than 512 bytes"},
		"a schema":     {[]*descriptorpb.FileDescriptorProto{file("a.proto", 1, message("M0", make([]string, 30_000)...))}, false, "tool s_do0: a schema is left open, since it has more than 262144 bytes"},
		"depth":        {[]*descriptorpb.FileDescriptorProto{file("a.proto", 1, chain(200, 1)...)}, false, "message p.M129 is more than 128 messages deep"},
		"depth of what is shared": {[]*descriptorpb.FileDescriptorProto{file("a.proto", 1, chain(200, 2)...)}, false,
			"is more than 128 messages deep"},
		"schemas": {[]*descriptorpb.FileDescriptorProto{distinct(1000)}, false, " schemas are left open, since the schemas of all tools have more than"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _, err := learnFrom(t, t.Context(), c.files...)
			if c.lost {
				if err == nil || !strings.Contains(err.Error(), c.note) {
					t.Fatalf("%v, want %q", err, c.note)
				}
				return
			}
			if err != nil || len(m.tools) == 0 {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(strings.Join(m.notes, "\n"), c.note) {
				t.Errorf("notes: %.500q, want %q", strings.Join(m.notes, "; "), c.note)
			}
			if len(m.notes) > limit.MaxNotes+1 {
				t.Errorf("%d notes", len(m.notes))
			}
		})
	}
}

// Steps that are used up leave schemas open, and then the service.
func TestStepsOfLearning(t *testing.T) {
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{distinct(600)}})
	if err != nil {
		t.Fatal(err)
	}
	opts := &Options{DescriptorSet: func() ([]byte, error) { return raw, nil }}
	for before, want := range map[int]string{
		limit.FreeSteps:     "schemas are left open, since it takes more than",
		limit.FreeSteps + 1: "the service cannot be learned: it takes more than",
	} {
		meter := limit.New(t.Context(), nil)
		meter.Step(before)
		m, err := learnBy(t.Context(), nil, opts, nil, nil, meter)
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.Join(m.notes, "\n")
		}
		if !strings.Contains(got, want) {
			t.Errorf("after %d steps: %.500s, want %q", before, got, want)
		}
	}
}
