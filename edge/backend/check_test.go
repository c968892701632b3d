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
	for name, test := range map[string]struct {
		fake *fake
		want []string
	}{
		"bad":     {bad, []string{"WatchTools: UNIMPLEMENTED, although Describe", "name is empty", "same key", "no change feed"}},
		"schemas": {lookAhead, []string{`"ahead" goes unvalidated`, `"away" goes unvalidated: output_schema_json`, "$defs"}},
		"looping": {looping, []string{"tools cannot be read", "second time", "resources: 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			addr, _ := test.fake.serve(t, "")
			var out strings.Builder
			err := check(t.Context(), Config{Name: "x", Target: addr}, Options{tune: &fast}, nil, &out)
			if err == nil {
				t.Error("no error")
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
	err := check(t.Context(), Config{Name: "x", Target: freeAddr(t)}, Options{tune: &fast}, nil, &out)
	if err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(out.String(), "cannot be reached") {
		t.Fatalf("err = %v, output %q", err, out.String())
	}
	for _, target := range []string{"nowhere.invalid:50051", "dns:///nowhere.invalid:50051"} {
		err := check(t.Context(), Config{Name: "x", Target: target}, Options{tune: &fast}, nil, &out)
		if err == nil || !strings.Contains(err.Error(), `the name "nowhere.invalid"`) || !strings.Contains(err.Error(), "not known to DNS") {
			t.Errorf("%s: %v", target, err)
		}
	}
	if err := Check(t.Context(), Config{}, nil, &out); err == nil {
		t.Fatal("no error for an empty configuration")
	}
}
