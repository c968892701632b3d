package reflect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	checked "github.com/mcpedge/mcpedge/edge/schema"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

var all = []string{
	"kind_check", "kind_count", "kind_echo", "kind_every", "kind_fail", "kind_nothing", "kind_stamp", "kind_walk",
	"opt_peek", "wipe",
}

func TestMethodsBecomeTools(t *testing.T) {
	for name, opts := range map[string]reflecttest.Options{"v1": {}, "v1alpha": {Alpha: true}} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, reflecttest.Serve(t, kinds, reflecttest.Answer, opts).Addr, reflect.Options{Name: "kinds"})
			if got := e.names(); !slices.Equal(got, all) {
				t.Errorf("tools: %q", got)
			}
			about, err := e.about.Describe(t.Context(), &pb.DescribeRequest{})
			if err != nil || about.GetImplementation().GetName() != "kinds" || about.GetImplementation().GetVersion() == "" || !about.GetTools().GetListChanged() {
				t.Errorf("Describe: %v, %v", about, err)
			}
			notes := e.adapter.Notes()
			for _, want := range []string{
				"method test.kinds.v1.KindService/Upload takes a stream of messages, and is not a tool",
				"method test.kinds.v1.KindService/Chat takes a stream of messages, and is not a tool",
			} {
				if !slices.Contains(notes, want) {
					t.Errorf("no note %q in %q", want, notes)
				}
			}
		})
	}
}

func TestToolsAreDescribed(t *testing.T) {
	tools := serveKinds(t, reflect.Options{}).list()
	wipe := &pb.Tool{
		Name: "wipe", Title: "Wipe it", Description: "Wipes a thing out.",
		Annotations: &pb.ToolAnnotations{Destructive: proto.Bool(true), Idempotent: proto.Bool(true), OpenWorld: proto.Bool(false)},
		MetaJson:    `{"io.mcpedge/method":"test.kinds.v1.OptionService/Delete"}`,
	}
	got := proto.Clone(tools["wipe"]).(*pb.Tool)
	got.InputSchemaJson, got.OutputSchemaJson = "", ""
	if !proto.Equal(got, wipe) {
		t.Errorf("wipe: %v", got)
	}
	if !tools["opt_peek"].GetAnnotations().GetReadOnly() || !tools["kind_walk"].GetAnnotations().GetReadOnly() {
		t.Error("a method without side effects is not marked read-only")
	}
	if d := tools["kind_count"]; d.GetTitle() != "Count" || !strings.HasPrefix(d.GetDescription(), "Count sends the numbers") || !strings.Contains(d.GetDescription(), "stream") {
		t.Errorf("count: %q, %q", d.GetTitle(), d.GetDescription())
	}
	if d := tools["kind_nothing"].GetDescription(); !strings.HasPrefix(d, "Calls the gRPC method test.kinds.v1.KindService/Nothing.") || !strings.HasSuffix(d, "Deprecated.") {
		t.Errorf("nothing: %q", d)
	}
	for name, tool := range tools {
		for _, s := range []string{tool.GetInputSchemaJson(), tool.GetOutputSchemaJson()} {
			if !json.Valid([]byte(s)) || !strings.Contains(s, `"type":"object"`) {
				t.Errorf("%s: %s", name, s)
			}
		}
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		include, exclude, want []string
	}{
		{nil, []string{"test.kinds.v1.KindService"}, []string{"opt_peek", "wipe"}},
		{[]string{"*/Walk", "/test.kinds.v1.OptionService/*"}, []string{"*.OptionService/D*"}, []string{"kind_walk", "opt_peek"}},
		{[]string{"test.kinds.v1.Kind*"}, []string{"*/[a-z]*", "*/*o*"}, []string{"kind_check", "kind_every", "kind_fail", "kind_stamp", "kind_walk"}},
		{[]string{"test.kinds.v1.HiddenService/*", "nothing.*"}, nil, nil},
	} {
		e := serveKinds(t, reflect.Options{Include: c.include, Exclude: c.exclude})
		if got := e.names(); !slices.Equal(got, c.want) {
			t.Errorf("include %q, exclude %q: %q, want %q", c.include, c.exclude, got, c.want)
		}
		if slices.Contains(c.include, "nothing.*") && !slices.Contains(e.adapter.Notes(), `include "nothing.*" selects no method`) {
			t.Errorf("notes: %q", e.adapter.Notes())
		}
	}
}

// A service without reflection is described by a file, which is enough without its imports too.
func TestDescriptorSet(t *testing.T) {
	s := reflecttest.Serve(t, kinds, reflecttest.Answer, reflecttest.Options{Mute: true})
	mute := newEdge(t, s.Addr, reflect.Options{})
	if _, err := mute.tools.ListTools(t.Context(), &pb.ListToolsRequest{}); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "descriptor-set") {
		t.Errorf("without either: %v", err)
	}
	whole, err := proto.Marshal(kinds)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kinds.binpb")
	for name, raw := range map[string][]byte{"whole": whole, "without imports": bare(t)} {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		e := newEdge(t, s.Addr, reflect.Options{DescriptorSet: func() ([]byte, error) { return os.ReadFile(path) }})
		if got := e.names(); !slices.Equal(got, all) {
			t.Errorf("%s: %q", name, got)
		}
		if a := e.call("opt_peek", `{"id":"x"}`); a.result.GetStructuredContentJson() != `{"id":"x"}` {
			t.Errorf("%s: %v", name, a)
		}
	}
	for name, raw := range map[string][]byte{"no such file": nil, "no set": []byte("nonsense")} {
		e := newEdge(t, s.Addr, reflect.Options{DescriptorSet: func() ([]byte, error) {
			if raw == nil {
				return nil, os.ErrNotExist
			}
			return raw, nil
		}})
		if _, err := e.tools.ListTools(t.Context(), &pb.ListToolsRequest{}); err == nil || !strings.Contains(err.Error(), "descriptor set: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// bare is the file of the services alone.
func bare(t *testing.T) []byte {
	t.Helper()
	set := proto.CloneOf(kinds)
	set.File = slices.DeleteFunc(set.File, func(fd *descriptorpb.FileDescriptorProto) bool { return fd.GetName() != "kinds.proto" })
	raw, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Names do not depend on which service came first; long ones are cut and stay their own.
func TestNamesAreUnique(t *testing.T) {
	long := strings.Repeat("Very", 20)
	set := reflecttest.Compile(map[string]string{
		"a.proto": `syntax = "proto3"; package a.v1; message M {} service ThingService { rpc GetHTTPStatus(M) returns (M); rpc ` + long + `A(M) returns (M); rpc ` + long + `B(M) returns (M); }`,
		"b.proto": `syntax = "proto3"; package b.v1; import "a.proto"; message M {} service ThingService { rpc GetHTTPStatus(M) returns (M); }
			service Service { rpc List2Items(M) returns (M); }`,
	})
	e := newEdge(t, reflecttest.Serve(t, set, reflecttest.Answer, reflecttest.Options{}).Addr, reflect.Options{})
	names := e.names()
	for _, want := range []string{"a_v1_thing_service_get_http_status", "b_v1_thing_service_get_http_status", "service_list2_items"} {
		if !slices.Contains(names, want) {
			t.Errorf("no tool %q in %q", want, names)
		}
	}
	if len(names) != 5 {
		t.Errorf("names: %q", names)
	}
	for _, n := range names {
		if len(n) > 64 {
			t.Errorf("%q has %d characters", n, len(n))
		}
	}
}

// A long list comes in pages of one version.
func TestPages(t *testing.T) {
	e := serveKinds(t, reflect.Options{})
	first, err := e.tools.ListTools(t.Context(), &pb.ListToolsRequest{PageSize: 4})
	if err != nil || len(first.GetTools()) != 4 {
		t.Fatalf("%d tools, %v", len(first.GetTools()), err)
	}
	second, err := e.tools.ListTools(t.Context(), &pb.ListToolsRequest{PageSize: 4, PageToken: first.GetNextPageToken()})
	if err != nil || len(second.GetTools()) != 4 || second.GetTools()[0].GetName() == first.GetTools()[0].GetName() {
		t.Errorf("the second page: %v, %v", second, err)
	}
	for token, want := range map[string]codes.Code{"x": codes.InvalidArgument, "-1@": codes.InvalidArgument, "99@": codes.InvalidArgument, "4@before": codes.Aborted} {
		if _, err := e.tools.ListTools(t.Context(), &pb.ListToolsRequest{PageToken: token}); status.Code(err) != want {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

// What a service's messages allow is checked whatever it costs the validator: no schema of theirs multiplies.
func TestSchemasDoNotMultiply(t *testing.T) {
	e := serveKinds(t, reflect.Options{})
	tools := e.list()
	if len(tools) == 0 {
		t.Fatal("no tools")
	}
	for name, tool := range tools {
		for _, text := range []string{tool.GetInputSchemaJson(), tool.GetOutputSchemaJson()} {
			s, err := checked.Compile(text)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if s.Multiplies() {
				t.Errorf("%s multiplies: %s", name, text)
			}
		}
	}
}

// What was listed is the reader's, who may change it, and what was asked for stays the caller's.
func TestMessagesAreTheirOwners(t *testing.T) {
	e := serveKinds(t, reflect.Options{})
	want := proto.CloneOf(e.list()["kind_walk"])
	for _, tool := range e.list() {
		proto.Reset(tool)
	}
	if got := e.list()["kind_walk"]; !proto.Equal(got, want) {
		t.Errorf("it is listed as %v", got)
	}
	req := request("kind_walk", `{"label":"a"}`)
	stream, err := e.tools.CallTool(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.Name, req.ArgumentsJson = "", ""
	if m, err := stream.Recv(); err != nil || !strings.Contains(m.GetResult().GetStructuredContentJson(), `"label":"a"`) {
		t.Errorf("%v, %v", m, err)
	}
}
