package backend

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
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

// TestReviewIsBoundByItself: the timeout of a backend does not end the review of its list, which has a timeout of its own.
func TestReviewIsBoundByItself(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	var bounded atomic.Bool
	_, b, changes := started(t, Config{Target: addr, Review: func(ctx context.Context, entries []proto.Message) ([]proto.Message, error) {
		if _, is := ctx.Deadline(); is {
			bounded.Store(true)
		}
		return entries, nil
	}}, fast)
	await.Receive(t, "the lists", changes)
	if !slices.Equal(names(b.Catalog()), []string{"a"}) || bounded.Load() {
		t.Errorf("the catalog has %v, bounded %v", names(b.Catalog()), bounded.Load())
	}
}

// TestUnreviewedOwnLists: the lists of a caller that cannot be reviewed are those that were, for a while; without them the caller gets an error
// that says neither by whom nor why.
func TestUnreviewedOwnLists(t *testing.T) {
	f := newFake()
	var asked atomic.Int32
	f.tools = privateTools(&asked)
	addr, _ := f.serve(t, "")
	var fails atomic.Bool
	p, b, changes := started(t, Config{Target: addr, Refresh: time.Hour, Review: func(_ context.Context, entries []proto.Message) ([]proto.Message, error) {
		if fails.Load() {
			return nil, errors.New("dial tcp 10.0.0.1:9000")
		}
		return entries, nil
	}}, fast)
	ready(t, p)
	await.Receive(t, "a change", changes)
	who := mcp.Principal{Subject: "ann"}
	if _, err := b.CatalogFor(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	fails.Store(true)
	key := string(who.AppendIdentity(nil, b.claims))
	kept, generation := b.private.get(key)
	b.private.put(key, &own{catalog: kept.catalog, read: time.Now().Add(-2 * time.Hour)}, generation)
	b.cfg.StaleAfter = 3 * time.Hour
	if c, err := b.CatalogFor(t.Context(), who); err != nil {
		t.Errorf("the lists of before are gone: %v", err)
	} else if !slices.Equal(names(c), []string{"ann"}) {
		t.Errorf("the lists of before are %v", names(c))
	}
	_, err := b.CatalogFor(t.Context(), mcp.Principal{Subject: "bob"})
	if e := mcp.AsError(err); err == nil || e.Kind != mcp.KindUnavailable || strings.Contains(e.Message, "10.0.0.1") {
		t.Errorf("another caller got %v", err)
	}
	before := asked.Load()
	if _, err := b.CatalogFor(t.Context(), mcp.Principal{Subject: "cem"}); err == nil || asked.Load() != before {
		t.Errorf("the backend was asked again: %v", err)
	}
}
