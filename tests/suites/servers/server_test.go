//go:build servers

package servers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// The statuses that a server begins with for "", the server as a whole.
const (
	unset   = "unset"
	serving = "serving"
)

// server is the garden service in one language: a succession of processes at one address.
type server struct {
	t       *testing.T
	of      language
	addr    string
	log     string
	health  string
	proc    *process.Process
	conn    *grpc.ClientConn
	control protoreflect.ServiceDescriptor
}

// serve starts a server, which ends with the test.
func serve(t *testing.T, l language, health string) *server {
	t.Helper()
	addrs, err := process.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, of: l, addr: addrs[0], health: health, log: filepath.Join(t.TempDir(), l.name+".log")}
	if s.conn, err = grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	d, err := protodesc.NewFiles(compile(t, "control/v1/control.proto"))
	if err != nil {
		t.Fatal(err)
	}
	service, err := d.FindDescriptorByName("control.v1.ControlService")
	if err != nil {
		t.Fatal(err)
	}
	s.control = service.(protoreflect.ServiceDescriptor)
	s.start()
	t.Cleanup(func() {
		// Not SIGTERM: tryShutdown of grpc-js never returns if a client closes its connection at that moment, as the edge does, which ends first.
		if err := errors.Join(s.proc.Kill(), s.conn.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// compile compiles files of the folder proto.
func compile(t *testing.T, names ...string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("proto", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return reflecttest.Compile(files)
}

// start starts the next process and returns when it accepts connections.
func (s *server) start() {
	s.t.Helper()
	args := append(slices.Clone(s.of.command[1:]), "--listen", s.addr, "--health", s.health)
	var err error
	if s.proc, err = process.Start(s.of.name, s.of.command[0], s.log, args...); err != nil {
		s.t.Fatal(err)
	}
	if err := process.AwaitListening(s.t.Context(), s.addr, s.proc); err != nil {
		s.t.Fatal(err)
	}
}

// stop ends the process with SIGTERM and returns when it has ended.
func (s *server) stop() {
	s.t.Helper()
	if err := s.proc.Stop(); err != nil {
		s.t.Error(err)
	}
}

// do calls a method of ControlService with the request that set fills.
func (s *server) do(method protoreflect.Name, set func(in *dynamicpb.Message)) *dynamicpb.Message {
	s.t.Helper()
	m := s.control.Methods().ByName(method)
	in, out := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	set(in)
	if err := s.conn.Invoke(s.t.Context(), fmt.Sprintf("/%s/%s", s.control.FullName(), method), in, out, grpc.WaitForReady(true)); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
	return out
}

// setHealth sets the status of the server as a whole.
func (s *server) setHealth(serving bool) {
	s.t.Helper()
	s.do("SetHealth", func(in *dynamicpb.Message) {
		in.Set(in.Descriptor().Fields().ByName("serving"), protoreflect.ValueOfBool(serving))
	})
}

// watches returns the number of health watches that were opened at the running process.
func (s *server) watches() int64 {
	s.t.Helper()
	out := s.do("Count", func(*dynamicpb.Message) {})
	return out.Get(out.Descriptor().Fields().ByName("watches")).Int()
}

var ticked = regexp.MustCompile(`(?m)^ticked (\S+)$`)

// ticks returns the ids of the Tick calls that all processes have answered.
func (s *server) ticks() (ids []string) {
	s.t.Helper()
	raw, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range ticked.FindAllSubmatch(raw, -1) {
		ids = append(ids, string(m[1]))
	}
	return ids
}
