package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"
)

var learnAttacks = []attack{
	{name: "learn-chain", what: "a service of 900,000 messages in a chain, by reflection", run: learning(learnChain)},
	{name: "learn-imports", what: "a service whose files import ever more", run: learning(learnImports)},
	{name: "learn-layers", what: "a service of 60 layers of files that import two others publicly", run: learning(learnLayers)},
	{name: "learn-names", what: "a message with a name of 400 KB and 20,000 fields", run: learning(learnNames)},
	{name: "learn-empty", what: "a file of four million empty declarations", run: learning(learnEmpty)},
	{name: "learn-changes", what: "a service of 280,000 or 140,000 declarations that are others at each learning", run: learnedAgain},
}

// learned is a service of `kind: reflect` that describes itself as an attack says.
type learned struct {
	rpb.UnimplementedServerReflectionServer
	mode atomic.Int32
	// sound counts the attacks that are over: its method has another name after each.
	sound atomic.Int32
	// learnings counts how often its services were asked for, questions everything that was asked for since.
	learnings, questions atomic.Int64
}

// How the service describes itself.
const (
	learnSound int32 = iota
	learnChain
	learnImports
	learnLayers
	learnNames
	learnEmpty
	learnChanges
)

// mostQuestions is how many questions one learning of the service may take.
const mostQuestions = 1_000

func newLearned() *learned { return &learned{} }

func (l *learned) server() *grpc.Server {
	s := newServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(stream); !strings.HasPrefix(method, "/attack.v1.Learned/") {
			return status.Errorf(codes.Unimplemented, "unknown method %s", method)
		}
		if err := stream.RecvMsg(new(emptypb.Empty)); err != nil {
			return err
		}
		return stream.SendMsg(new(emptypb.Empty))
	}))
	rpb.RegisterServerReflectionServer(s, l)
	return s
}

// ServerReflectionInfo implements reflection.
func (l *learned) ServerReflectionInfo(stream grpc.BidiStreamingServer[rpb.ServerReflectionRequest, rpb.ServerReflectionResponse]) error {
	for {
		req, err := stream.Recv()
		if err != nil {
			return nil
		}
		res := &rpb.ServerReflectionResponse{}
		if _, list := req.GetMessageRequest().(*rpb.ServerReflectionRequest_ListServices); list {
			l.learnings.Add(1)
			l.questions.Store(0)
			res.MessageResponse = &rpb.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: &rpb.ListServiceResponse{
				Service: []*rpb.ServiceResponse{{Name: "attack.v1.Learned"}}}}
		} else {
			l.questions.Add(1)
			files := &rpb.FileDescriptorResponse{}
			for _, fd := range l.answer(req) {
				raw, err := proto.Marshal(fd)
				if err != nil {
					return err
				}
				files.FileDescriptorProto = append(files.FileDescriptorProto, raw)
			}
			res.MessageResponse = &rpb.ServerReflectionResponse_FileDescriptorResponse{FileDescriptorResponse: files}
		}
		if err := stream.Send(res); err != nil {
			return err
		}
	}
}

func (l *learned) answer(req *rpb.ServerReflectionRequest) []*descriptorpb.FileDescriptorProto {
	fd := learnedFile("learned.proto", learnedMessage("M0", "f"))
	method := &descriptorpb.MethodDescriptorProto{Name: proto.String("Run"), InputType: proto.String(".attack.v1.M0"), OutputType: proto.String(".attack.v1.M0")}
	if l.mode.Load() == learnSound {
		method.Name = proto.String(fmt.Sprintf("Sound%d", l.sound.Load()))
	}
	fd.Service = []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Learned"), Method: []*descriptorpb.MethodDescriptorProto{method}}}
	switch l.mode.Load() {
	case learnChain:
		fd.MessageType = nil
		for i := range 900_000 {
			m := &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprintf("M%d", i))}
			m.Field = []*descriptorpb.FieldDescriptorProto{{Name: proto.String("f"), Number: proto.Int32(1),
				Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: proto.String(fmt.Sprintf("M%d", i+1))}}
			fd.MessageType = append(fd.MessageType, m)
			if i == 899_999 {
				m.Field[0].TypeName = proto.String("M0")
			}
		}
	case learnImports:
		fd.Dependency = []string{"a"}
		if name := req.GetFileByFilename(); name != "" {
			more := learnedFile(name)
			more.Dependency = []string{next(name), next(name) + "z"}
			return []*descriptorpb.FileDescriptorProto{more}
		}
	case learnLayers:
		files := []*descriptorpb.FileDescriptorProto{fd}
		for i := range 60 {
			for _, side := range []string{"l", "r"} {
				layer := learnedFile(fmt.Sprintf("%s%d.proto", side, i))
				if i > 0 {
					layer.Dependency = []string{fmt.Sprintf("l%d.proto", i-1), fmt.Sprintf("r%d.proto", i-1)}
					layer.PublicDependency = []int32{0, 1}
				}
				files = append(files, layer)
			}
		}
		fd.Dependency = []string{"l59.proto", "r59.proto"}
		return files
	case learnNames:
		var names []string
		for i := range 20_000 {
			names = append(names, fmt.Sprintf("f%d", i))
		}
		fd.MessageType = append(fd.MessageType, learnedMessage(strings.Repeat("N", 400<<10), names...))
	case learnChanges:
		n := l.learnings.Load()
		size := 140
		if n%2 == 0 {
			size = 280
		}
		fields := make([]string, 1_000)
		for i := range fields {
			fields[i] = fmt.Sprintf("%s_%d_%d", strings.Repeat("f", 70), n, i)
		}
		for i := range size {
			fd.MessageType = append(fd.MessageType, learnedMessage(fmt.Sprintf("Changed%d", i), fields...))
			fd.Service[0].Method = append(fd.Service[0].Method, &descriptorpb.MethodDescriptorProto{Name: proto.String(fmt.Sprintf("Changed%d", i)),
				InputType: proto.String(fmt.Sprintf(".attack.v1.Changed%d", i)), OutputType: proto.String(fmt.Sprintf(".attack.v1.Changed%d", i))})
		}
	case learnEmpty:
		// An empty message is two bytes.
		fd.ProtoReflect().SetUnknown([]byte(strings.Repeat("\x22\x00", 4_000_000)))
	}
	return []*descriptorpb.FileDescriptorProto{fd}
}

// next is the name of a file after another one.
func next(name string) string {
	n := 0
	_, _ = fmt.Sscanf(name, "a%d", &n) // none: the first one
	return fmt.Sprintf("a%d", n+1)
}

func learnedFile(name string, messages ...*descriptorpb.DescriptorProto) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{Name: &name, Package: proto.String("attack.v1"), Syntax: proto.String("proto3"), MessageType: messages}
}

func learnedMessage(name string, fields ...string) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: &name}
	for i, f := range fields {
		m.Field = append(m.Field, learnedField(f, i))
	}
	return m
}

func learnedField(name string, i int) *descriptorpb.FieldDescriptorProto {
	return &descriptorpb.FieldDescriptorProto{Name: &name, Number: proto.Int32(int32(i) + 1),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()}
}

// learning has the service describe itself so, for as long as it is learned twice, and then soundly: a tool that is new
// must be there soon.
func learning(mode int32) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		l := s.backends.learned
		defer l.mode.Store(learnSound)
		l.mode.Store(mode)
		from := l.learnings.Load()
		var most int64
		for end := time.Now().Add(s.o.duration); l.going(end, from, 1) && l.learnings.Load() < from+3; pause(ctx, 20*time.Millisecond) {
			most = max(most, l.questions.Load())
			if err := s.edge.gone(); err != nil {
				return err
			}
		}
		s.note("%d questions", most)
		if l.learnings.Load() == from {
			return errors.New("the service was not learned meanwhile: nothing was attacked")
		}
		tool := fmt.Sprintf("learned_sound%d", l.sound.Add(1))
		l.mode.Store(learnSound)
		if most > mostQuestions {
			return fmt.Errorf("%d questions were asked to learn the service once", most)
		}
		if err := s.heard(ctx, tool); err != nil {
			return fmt.Errorf("after it describes itself soundly again: %w", err)
		}
		return nil
	}
}

// learnedAgain has the service be another one at each learning, which its calls ask for. The pauses between learnings grow meanwhile, so that it may take
// long until it is known that the service is sound again.
func learnedAgain(ctx context.Context, s *site) error {
	l := s.backends.learned
	defer l.mode.Store(learnSound)
	l.mode.Store(learnChanges)
	from := l.learnings.Load()
	for end := time.Now().Add(s.o.duration); l.going(end, from, 2); pause(ctx, 20*time.Millisecond) {
		if err := s.edge.gone(); err != nil {
			return err
		}
	}
	n := l.learnings.Load() - from
	s.note("learned %d times", n)
	tool := fmt.Sprintf("learned_sound%d", l.sound.Add(1))
	l.mode.Store(learnSound)
	if n < 2 {
		return fmt.Errorf("the service was learned %d times: none is another one than before", n)
	}
	return s.heardWithin(ctx, tool, longest-heardWithin)
}

// going reports whether an attack on learning goes on: until its end, and then for a while until the service was learned n times.
func (l *learned) going(end time.Time, from, n int64) bool {
	now := time.Now()
	return now.Before(end) || l.learnings.Load() < from+n && now.Before(end.Add(heardWithin))
}

// heardWithin is how soon a change of a backend must be known.
const heardWithin = 20 * time.Second

// heard waits until a tool is there.
func (s *site) heard(ctx context.Context, tool string) error {
	return s.heardWithin(ctx, tool, heardWithin)
}

func (s *site) heardWithin(ctx context.Context, tool string, within time.Duration) error {
	r := s.rogue()
	defer r.close()
	for end := time.Now().Add(within); time.Now().Before(end); pause(ctx, 200*time.Millisecond) {
		a, err := r.call(ctx, tool, "{}")
		if err != nil {
			return err
		}
		if !strings.Contains(string(a.body), `"error"`) {
			return nil
		}
	}
	return errors.New("its tool is not there within " + within.String())
}
