package backend

import (
	"strings"
	"testing"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestCheck(t *testing.T) {
	bad := newFake("a")
	bad.noFeed = true
	bad.tools = func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
		return &pb.ListToolsResponse{Tools: []*pb.Tool{{Name: "a"}, {Name: "a"}, {}}}, nil
	}
	looping := newFake("a")
	looping.tools = func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
		return &pb.ListToolsResponse{NextPageToken: "x"}, nil
	}
	lookAhead := newFake()
	lookAhead.tools = func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
		return &pb.ListToolsResponse{Tools: []*pb.Tool{
			{Name: "fine", InputSchemaJson: `{"type":"object","properties":{"n":{"type":"integer"}}}`},
			{Name: "ahead", InputSchemaJson: `{"type":"object","properties":{"n":{"pattern":"(?=x)"}}}`},
			{Name: "away", OutputSchemaJson: `{"$ref":"https://example.com/x.json"}`},
		}}, nil
	}
	silent := newFake("a")
	silent.describe = nil
	for name, test := range map[string]struct {
		fake *fake
		sane bool
		want []string
	}{
		"sound":            {newFake("a", "b"), true, []string{`"fake", version "1"`, "tools: 2", "change feed", "    b\n", "test:a", "0 templates, subscriptions", "prompts: not served", "nothing breaks"}},
		"without Describe": {silent, true, []string{"Describe: not served", "tools: 1", "subscriptions, no completion"}},
		"bad":              {bad, false, []string{"change feed of tools", "name is empty", "same key", "no change feed"}},
		"schemas":          {lookAhead, false, []string{`"ahead" goes unvalidated`, `"away" goes unvalidated: output_schema_json`, "$defs"}},
		"looping":          {looping, false, []string{"tools cannot be read", "second time", "resources: 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			addr, _ := test.fake.serve(t, "127.0.0.1:0")
			var out strings.Builder
			err := check(t.Context(), Config{Name: "x", Target: addr}, Options{tune: &fast}, &out)
			if (err == nil) != test.sane {
				t.Errorf("err = %v, want none: %v", err, test.sane)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestCheckUnreachable(t *testing.T) {
	var out strings.Builder
	err := check(t.Context(), Config{Name: "x", Target: freeAddr(t)}, Options{tune: &fast}, &out)
	if err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(out.String(), "cannot be reached") {
		t.Fatalf("err = %v, output %q", err, out.String())
	}
	if err := Check(t.Context(), Config{}, &out); err == nil {
		t.Fatal("no error for an empty configuration")
	}
}
