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
	// metadata is what the last stream was opened with.
	metadata metadata.MD
	// fails are the errors of streams, by their methods.
	fails map[string]error
}

func (r *reflected) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return status.Error(codes.Unimplemented, "")
}

func (r *reflected) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	r.streams++
	r.metadata, _ = metadata.FromOutgoingContext(ctx)
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

// learnFrom learns a set of files with a meter of the test's.
func learnFrom(t *testing.T, ctx context.Context, files ...*descriptorpb.FileDescriptorProto) (*model, *limit.Meter, error) {
	t.Helper()
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	meter := limit.New(ctx, nil)
	m, err := learnBy(ctx, nil, &Options{DescriptorSet: func() ([]byte, error) { return raw, nil }}, nil, nil, meter)
	return m, meter, err
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
			m, err := learn(t.Context(), r, &Options{}, nil, nil, nil)
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
