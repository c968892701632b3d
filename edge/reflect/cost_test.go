package reflect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// reflected is a connection to a target whose server reflection answers as a test says. An error ends the stream.
type reflected struct {
	services []string
	answer   func(*rpb.ServerReflectionRequest) (*rpb.ServerReflectionResponse, error)
	// asked are the questions, streams how many streams there were.
	asked   []string
	streams int
	// fails are the errors of streams, by their methods.
	fails map[string]error
}

func (r *reflected) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return status.Error(codes.Unimplemented, "")
}

func (r *reflected) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	r.streams++
	if err := r.fails[method]; err != nil {
		return nil, err
	}
	return &reflectedStream{of: r}, nil
}

type reflectedStream struct {
	of      *reflected
	waiting []*rpb.ServerReflectionRequest
}

func (s *reflectedStream) Header() (metadata.MD, error) { return nil, nil }
func (s *reflectedStream) Trailer() metadata.MD         { return nil }
func (s *reflectedStream) CloseSend() error             { return nil }
func (s *reflectedStream) Context() context.Context     { return context.Background() }

func (s *reflectedStream) SendMsg(m any) error {
	s.waiting = append(s.waiting, proto.Clone(m.(*rpb.ServerReflectionRequest)).(*rpb.ServerReflectionRequest))
	return nil
}

func (s *reflectedStream) RecvMsg(m any) error {
	if len(s.waiting) == 0 {
		return io.EOF
	}
	req := s.waiting[0]
	s.waiting = s.waiting[1:]
	res := &rpb.ServerReflectionResponse{}
	if _, is := req.GetMessageRequest().(*rpb.ServerReflectionRequest_ListServices); is {
		list := &rpb.ListServiceResponse{}
		for _, name := range s.of.services {
			list.Service = append(list.Service, &rpb.ServiceResponse{Name: name})
		}
		res.MessageResponse = &rpb.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: list}
	} else {
		s.of.asked = append(s.of.asked, req.GetFileByFilename()+req.GetFileContainingSymbol())
		var err error
		if res, err = s.of.answer(req); err != nil {
			return err
		}
	}
	proto.Merge(m.(proto.Message), res)
	return nil
}

// found answers with files.
func found(files ...*descriptorpb.FileDescriptorProto) (*rpb.ServerReflectionResponse, error) {
	res := &rpb.FileDescriptorResponse{}
	for _, fd := range files {
		raw, err := proto.Marshal(fd)
		if err != nil {
			return nil, err
		}
		res.FileDescriptorProto = append(res.FileDescriptorProto, raw)
	}
	return &rpb.ServerReflectionResponse{MessageResponse: &rpb.ServerReflectionResponse_FileDescriptorResponse{FileDescriptorResponse: res}}, nil
}

// unknown refuses a question.
func unknown() (*rpb.ServerReflectionResponse, error) {
	return &rpb.ServerReflectionResponse{MessageResponse: &rpb.ServerReflectionResponse_ErrorResponse{
		ErrorResponse: &rpb.ErrorResponse{ErrorCode: int32(codes.NotFound), ErrorMessage: "not known"}}}, nil
}

// file makes a file of package p with messages and one service, whose methods take and give M0.
func file(name string, methods int, messages ...*descriptorpb.DescriptorProto) *descriptorpb.FileDescriptorProto {
	fd := &descriptorpb.FileDescriptorProto{Name: &name, Package: proto.String("p"), Syntax: proto.String("proto3"), MessageType: messages}
	if methods > 0 {
		s := &descriptorpb.ServiceDescriptorProto{Name: proto.String("S")}
		for i := range methods {
			s.Method = append(s.Method, &descriptorpb.MethodDescriptorProto{
				Name: proto.String(fmt.Sprintf("Do%d", i)), InputType: proto.String(".p.M0"), OutputType: proto.String(".p.M0")})
		}
		fd.Service = append(fd.Service, s)
	}
	return fd
}

// message makes one whose fields are of types: a message where it is named, else a string.
func message(name string, types ...string) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: &name}
	for i, t := range types {
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(fmt.Sprintf("f%d", i)), Number: proto.Int32(int32(i) + 1),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()}
		if t != "" {
			f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), &t
		}
		m.Field = append(m.Field, f)
	}
	return m
}

// chain is n messages, each of which has times the next one.
func chain(n, times int) (all []*descriptorpb.DescriptorProto) {
	for i := range n {
		next := ""
		if i+1 < n {
			next = fmt.Sprintf(".p.M%d", i+1)
		}
		all = append(all, message(fmt.Sprintf("M%d", i), slices.Repeat([]string{next}, times)...))
	}
	return all
}

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

// learnFrom learns a set of files with a meter of the test's.
func learnFrom(t *testing.T, ctx context.Context, files ...*descriptorpb.FileDescriptorProto) (*model, *limit.Meter, error) {
	t.Helper()
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	meter := limit.New(ctx)
	m, err := learnBy(ctx, nil, &Options{DescriptorSet: func() ([]byte, error) { return raw, nil }}, nil, nil, meter)
	return m, meter, err
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
		"a schema":     {[]*descriptorpb.FileDescriptorProto{file("a.proto", 1, message("M0", make([]string, 30_000)...))}, false, "tool s_do0: a schema is left open, since it has more than 1048576 bytes"},
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
		meter := limit.New(t.Context())
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

// Learning ends with its context also while it computes.
func TestLearningEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, meter, err := learnFrom(t, ctx, file("a.proto", 100, chain(2000, 2)...))
	if !errors.Is(err, context.Canceled) || meter.Steps() > 10_000 {
		t.Errorf("%v after %d steps", err, meter.Steps())
	}
}

// A server whose files import ever more is asked a bounded number of questions.
func TestEndlessImports(t *testing.T) {
	sound := file("sound.proto", 1, message("M0", ""))
	sound.Dependency = []string{"a"}
	for name, answer := range map[string]func(asked string) *descriptorpb.FileDescriptorProto{
		"by file": func(asked string) *descriptorpb.FileDescriptorProto {
			fd := file(asked, 0)
			fd.Dependency = []string{asked + "a"}
			return fd
		},
		"by two files": func(asked string) *descriptorpb.FileDescriptorProto {
			fd := file(asked, 0)
			fd.Dependency = []string{asked + "a", asked + "b"}
			return fd
		},
		"under other names": func(asked string) *descriptorpb.FileDescriptorProto {
			fd := file("x"+asked, 0)
			fd.Dependency = []string{asked + "a"}
			return fd
		},
		"by type": func(asked string) *descriptorpb.FileDescriptorProto {
			return file(asked, 0, message("L"+strings.ReplaceAll(asked, ".", "_"), ".q."+strings.ReplaceAll(asked, ".", "_")+"x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reflected{services: []string{"p.S"}, answer: func(req *rpb.ServerReflectionRequest) (*rpb.ServerReflectionResponse, error) {
				if req.GetFileContainingSymbol() == "p.S" {
					return found(sound)
				}
				return found(answer(req.GetFileByFilename() + req.GetFileContainingSymbol()))
			}}
			m, err := learn(t.Context(), r, &Options{}, nil, nil)
			if err != nil || len(m.tools) != 1 {
				t.Fatal(m, err)
			}
			if len(r.asked) > limit.MaxFiles {
				t.Errorf("%d questions", len(r.asked))
			}
			if !strings.Contains(strings.Join(m.notes, "\n"), "is not read: ") {
				t.Errorf("no note of the bound: %.500q", m.notes)
			}
		})
	}
}
