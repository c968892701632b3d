package e2e

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// contractBeforeTasks is the descriptor set of mcpedge.v1 as it was before there were tasks: `buf build --exclude-source-info`
// of proto/mcpedge/v1. It stands for backends and edges that were built then, and is not made anew.
//
//go:embed testdata/contract-before-tasks.binpb
var contractBeforeTasks []byte

// oldContract reads it.
func oldContract(t *testing.T) *descriptorpb.FileDescriptorSet {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(contractBeforeTasks, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// oldBackend answers as a backend does whose stubs know nothing of tasks. Its handler tells of the rounds of calls that it got.
type oldBackend struct {
	rounds chan *dynamicpb.Message
}

func (b *oldBackend) handle(_ context.Context, method protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
	answer := func(text string) error {
		out := dynamicpb.NewMessage(method.Output())
		if err := protojson.Unmarshal([]byte(text), out); err != nil {
			return err
		}
		return send(out)
	}
	switch method.Name() {
	case "Describe":
		return answer(`{"implementation":{"name":"old","version":"1.0.0"},"tools":{}}`)
	case "ListTools":
		return answer(`{"tools":[{"name":"greet","inputSchemaJson":"{\"type\":\"object\"}"}]}`)
	case "CallTool":
		b.rounds <- in
		if err := answer(`{"progress":{"progress":1,"message":"thinking"}}`); err != nil {
			return err
		}
		fields := in.Descriptor().Fields()
		answers := in.Get(fields.ByName("input_responses")).List()
		if answers.Len() == 0 {
			return answer(`{"inputRequired":{"state":"a2VwdA==","requests":[{"key":"name","elicitForm":{"message":"Who?",` +
				`"requestedSchemaJson":"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}"}}]}}`)
		}
		if got := string(in.Get(fields.ByName("state")).Bytes()); got != "kept" {
			return status.Errorf(codes.Internal, "the state came back as %q", got)
		}
		return answer(`{"result":{"content":[{"text":{"text":"Hello"}}]}}`)
	}
	return status.Errorf(codes.Unimplemented, "method %s", method.FullName())
}

// TestOldBackend: a backend of the contract before tasks behind this edge, which sends it fields that it does not know. It has
// no tasks.
func TestOldBackend(t *testing.T) {
	b := &oldBackend{rounds: make(chan *dynamicpb.Message, 10)}
	s := reflecttest.Serve(t, oldContract(t), b.handle, reflecttest.Options{Mute: true})
	e := startEdge(t, []config.Backend{{Name: "old", Target: s.Addr}})

	legacy := newSession(t, e.URL, vNov)
	if got := names(legacy.request("tools/list", "").result()["tools"], "name"); !slices.Equal(got, []string{"greet"}) {
		t.Errorf("listed: %v", got)
	}
	stream := legacy.callWithProgress("greet", `{}`, "p").events()
	if got := dig(object(t, stream.awaitMethod("notifications/progress").Params), "message"); got != "thinking" {
		t.Errorf("progress: %v", got)
	}
	legacy.answer(stream.awaitMethod("elicitation/create"), `{"action":"accept","content":{"name":"Ada"}}`)
	if got := text(t, stream.message().result(t)); got != "Hello" {
		t.Errorf("it gave %q", got)
	}
	first := <-b.rounds
	about := first.Get(first.Descriptor().Fields().ByName("context")).Message()
	if len(about.GetUnknown()) == 0 {
		t.Error("this edge sent it nothing that it does not know: the test shows nothing")
	}
	legacy.request("tools/call", `{"name":"greet","arguments":{},"task":{}}`).final().wantError(t, -32601)

	modern := newStateless(t, e.URL, `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	asked := modern.call("greet", `{}`).want(http.StatusOK).result()
	answered := retry(t, asked, `{"name":{"action":"accept","content":{"name":"Ada"}}}`)
	if got := modern.call("greet", `{}`, answered).text(); got != "Hello" {
		t.Errorf("it gave %q", got)
	}
}

// oldEdge speaks to a backend in the messages of the contract before tasks.
type oldEdge struct {
	t     *testing.T
	conn  *grpc.ClientConn
	tools protoreflect.ServiceDescriptor
}

// call calls a method and returns all that it answers.
func (e *oldEdge) call(method protoreflect.Name, request string) (out []*dynamicpb.Message) {
	e.t.Helper()
	md := e.tools.Methods().ByName(method)
	in := dynamicpb.NewMessage(md.Input())
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		e.t.Fatal(err)
	}
	stream, err := e.conn.NewStream(e.t.Context(), &grpc.StreamDesc{ServerStreams: true}, "/"+string(e.tools.FullName())+"/"+string(method))
	if err == nil {
		err = stream.SendMsg(in)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	for err == nil {
		m := dynamicpb.NewMessage(md.Output())
		if err = stream.RecvMsg(m); err == nil {
			out = append(out, m)
		}
	}
	if !errors.Is(err, io.EOF) {
		e.t.Fatalf("%s: %v", method, err)
	}
	return out
}

// kinds are those of the messages of a call's stream, "" for what the old contract does not know.
func kinds(messages []*dynamicpb.Message) (out []string) {
	for _, m := range messages {
		fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("message"))
		if fd == nil {
			out = append(out, "")
		} else {
			out = append(out, string(fd.Name()))
		}
	}
	return out
}

// TestOldEdge: an edge of the contract before tasks before a backend of this one, which uses all there is for tasks: it sees no
// event that it does not know, and leaves out the fields.
func TestOldEdge(t *testing.T) {
	s := capability.New("new", "1.0.0")
	capability.AddTool(s, "work", "Works", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		c.Defer()
		if err := c.Checkpoint([]byte("half")); err != nil {
			return "", err
		}
		c.Progress(1, 2, "half")
		if string(c.State()) != "job" {
			return "", &capability.InputRequired{State: []byte("job"), Repeatable: true}
		}
		return "worked", nil
	}, capability.Tasks(capability.TaskOptional))
	service := startService(t, s)
	conn, err := grpc.NewClient(service.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	d, err := reflecttest.Files(oldContract(t)).FindDescriptorByName("mcpedge.v1.ToolService")
	if err != nil {
		t.Fatal(err)
	}
	e := &oldEdge{t: t, conn: conn, tools: d.(protoreflect.ServiceDescriptor)}

	tool := e.call("ListTools", `{}`)[0]
	listed := tool.Get(tool.Descriptor().Fields().ByName("tools")).List().Get(0).Message()
	if got := listed.Get(listed.Descriptor().Fields().ByName("name")).String(); got != "work" || len(listed.GetUnknown()) == 0 {
		t.Errorf("listed %q, with %d bytes unknown", got, len(listed.GetUnknown()))
	}
	first := e.call("CallTool", `{"name":"work","argumentsJson":"{}","context":{"callId":"c","attempt":1,"round":1,"progressWanted":true}}`)
	if got := kinds(first); !slices.Equal(got, []string{"progress", "input_required"}) {
		t.Fatalf("the first round gave %q", got)
	}
	required := first[1].Get(first[1].Descriptor().Fields().ByName("input_required")).Message()
	state := required.Get(required.Descriptor().Fields().ByName("state")).Bytes()
	next := dynamicpb.NewMessage(e.tools.Methods().ByName("CallTool").Input())
	next.Set(next.Descriptor().Fields().ByName("name"), protoreflect.ValueOfString("work"))
	next.Set(next.Descriptor().Fields().ByName("state"), protoreflect.ValueOfBytes(state))
	raw, err := protojson.Marshal(next)
	if err != nil {
		t.Fatal(err)
	}
	if got := kinds(e.call("CallTool", string(raw))); !slices.Equal(got, []string{"result"}) {
		t.Errorf("the second round gave %q", got)
	}
}

// TestOldEdgeSeesNothing: what a backend sends unasked, an edge of the contract before tasks takes for a message without
// content, which is a broken contract.
func TestOldEdgeSeesNothing(t *testing.T) {
	md := reflecttest.Message(reflecttest.Files(oldContract(t)), "mcpedge.v1.CallToolResponse")
	for _, m := range []*pb.CallToolResponse{
		{Message: &pb.CallToolResponse_Defer{Defer: &pb.Defer{}}},
		{Message: &pb.CallToolResponse_Checkpoint{Checkpoint: &pb.Checkpoint{State: []byte("x")}}},
	} {
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		old := dynamicpb.NewMessage(md)
		if err := proto.Unmarshal(raw, old); err != nil || kinds([]*dynamicpb.Message{old})[0] != "" {
			t.Errorf("%v is read as %v, %v", m, old, err)
		}
	}
}
