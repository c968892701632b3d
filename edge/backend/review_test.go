package backend

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// TestReview: what is left out is remembered where it could be reached otherwise, and what is changed as it was; both are in the digest.
func TestReview(t *testing.T) {
	given := func() *list {
		return &list{
			tools:     []*pb.Tool{{Name: "a"}, {Name: "b"}},
			resources: []*pb.Resource{{Uri: "X://h/%61"}, {Uri: "x://b"}},
			templates: []*pb.ResourceTemplate{{UriTemplate: "x://{t}"}},
		}
	}
	l := given()
	err := l.review(t.Context(), func(_ context.Context, entries []proto.Message) (left []proto.Message, _ error) {
		for _, e := range entries {
			switch e := e.(type) {
			case *pb.Tool:
				other := proto.CloneOf(e)
				if other.Description = "new"; e.GetName() == "b" {
					left = append(left, other)
				}
			case *pb.Resource:
				if e.GetUri() == "x://b" {
					left = append(left, e)
				}
			}
		}
		return left, nil
	})
	if err != nil || len(l.tools) != 1 || len(l.resources) != 1 || len(l.templates) != 0 {
		t.Fatalf("left %v, %v, %v, %v", l.tools, l.resources, l.templates, err)
	}
	c := (&lists{l, l, l}).assemble(&pb.DescribeResponse{})
	if was := c.Listed(l.tools[0]); was.GetName() != "b" || was.GetDescription() != "" {
		t.Errorf("the changed tool was %v", was)
	}
	if !c.Withheld["X://h/%61"] || !c.Withheld["x://h/a"] || c.Withheld["x://b"] {
		t.Errorf("withheld are %v", c.Withheld)
	}
	for _, kind := range []Kinds{Tools, Resources} {
		if given().sum(kind) == l.sum(kind) {
			t.Errorf("the digest of %v is the same", kind)
		}
	}
	// A URI that is withheld shows in the digest, though the list without it would be the same.
	open := &list{resources: l.resources}
	if open.sum(Resources) == (&list{resources: l.resources, withheld: map[string]bool{"x://c": true}}).sum(Resources) {
		t.Error("a withheld URI is not in the digest")
	}
	l = given()
	if err := l.review(t.Context(), func(context.Context, []proto.Message) ([]proto.Message, error) { return nil, errors.New("no") }); err == nil {
		t.Error("a list is served that was not checked")
	}
}
