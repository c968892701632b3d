package check

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// careless has a skill that it does not know when it is asked for it.
type careless struct {
	pb.UnimplementedResourceServiceServer
}

func (careless) ListResources(context.Context, *pb.ListResourcesRequest) (*pb.ListResourcesResponse, error) {
	return &pb.ListResourcesResponse{}, nil
}

func (careless) ListSkills(context.Context, *pb.ListSkillsRequest) (*pb.ListSkillsResponse, error) {
	return &pb.ListSkillsResponse{Skills: []*pb.Skill{
		{Uri: "skill://a/SKILL.md", FrontmatterJson: `{"name":"a","description":"d"}`, Dynamic: true},
		{Uri: "skill://b/SKILL.md", FrontmatterJson: `{"name":"a","description":"d"}`, Dynamic: true},
	}}, nil
}

func (careless) GetSkill(context.Context, *pb.GetSkillRequest) (*pb.GetSkillResponse, error) {
	return nil, status.Error(codes.InvalidArgument, "what?")
}

func TestCheckOfSkills(t *testing.T) {
	serve := func(run func(net.Listener)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go run(l)
		return l.Addr().String()
	}
	skills, err := capability.NewSkills(fstest.MapFS{"a/SKILL.md": {Data: []byte("---\nname: a\ndescription: d\n---\n")}}, "skill://", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := capability.New("s", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	s.Provide("skill://", skills)
	out, err := report(t, serve(func(l net.Listener) { _ = s.Serve(t.Context(), l) }), nil)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{`GetSkill "skill://a/SKILL.md": 1 files`, `ListResourceDirectory "skill://a": 1 children`, "GetSkill, an unknown URI: NOT_FOUND"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}

	g := grpc.NewServer()
	t.Cleanup(g.Stop)
	pb.RegisterResourceServiceServer(g, careless{})
	out, err = report(t, serve(func(l net.Listener) { _ = g.Serve(l) }), nil)
	if err == nil {
		t.Error("no error")
	}
	for _, want := range []string{"GetSkill, an unknown URI: status InvalidArgument", `GetSkill "skill://a/SKILL.md": status InvalidArgument`, `"skill://b/SKILL.md") is left out`} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}
