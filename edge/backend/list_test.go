package backend

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/check/vet"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestDuplicatesAreLeftOut(t *testing.T) {
	var l list
	kept := validEntries(&l, []*pb.Tool{{Name: "a", Title: "first"}, {Name: "b"}, {Name: "a"}}, vet.Tool)
	if len(kept) != 2 || kept[0].Title != "first" || kept[1].Name != "b" || len(l.problems) != 1 {
		t.Fatalf("kept %v, problems %q", kept, l.problems)
	}
	for i := range 100 {
		l.problem("problem %d", i)
	}
	if len(l.problems) != MaxProblems {
		t.Fatalf("%d problems kept, want %d", len(l.problems), MaxProblems)
	}
}

// What all templates of a backend cost a read is bounded when they are listed.
func TestTemplatesBeyondTheirBoundAreLeftOut(t *testing.T) {
	var l list
	var all []*pb.ResourceTemplate
	for i := range MaxTemplateVariables/2 + 3 {
		all = append(all, &pb.ResourceTemplate{UriTemplate: fmt.Sprintf("x://%d/{a}", i)})
	}
	if kept := l.boundTemplates(all); len(kept) != MaxTemplateVariables/2 || len(l.problems) != 1 || !strings.Contains(l.problems[0], "3 templates from") {
		t.Errorf("%d of %d kept, problems %q", len(kept), len(all), l.problems)
	}
}

func TestHints(t *testing.T) {
	var l list
	for _, test := range []struct {
		cache   *pb.CacheHint
		want    Hint
		private bool
		flaws   int
	}{
		{nil, Hint{}, false, 0},
		{&pb.CacheHint{Ttl: durationpb.New(1500 * time.Microsecond)}, Hint{TTL: time.Millisecond}, false, 0},
		{&pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}, Hint{time.Hour, true}, false, 0},
		{&pb.CacheHint{Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE}, Hint{}, true, 0},
		{&pb.CacheHint{Ttl: durationpb.New(-time.Hour)}, Hint{}, false, 1},
		{&pb.CacheHint{Ttl: durationpb.New(1000 * time.Hour)}, Hint{TTL: maxTTL}, false, 1},
	} {
		l = list{}
		if got := l.hintOf("List", test.cache); got != test.want || l.private != test.private || len(l.problems) != test.flaws {
			t.Errorf("hint of %v = %+v, private %v, problems %q", test.cache, got, l.private, l.problems)
		}
	}
}

func TestDigest(t *testing.T) {
	a, b := &pb.Tool{Name: "a"}, &pb.Tool{Name: "b"}
	if DigestOf([]*pb.Tool{a, b}) != DigestOf([]*pb.Tool{proto.CloneOf(a), proto.CloneOf(b)}) {
		t.Error("equal content has different digests")
	}
	distinct := map[uint64]bool{}
	for _, l := range [][]*pb.Tool{nil, {a}, {b}, {a, b}, {b, a}, {{Name: "ab"}}, {{}, {}}} {
		distinct[DigestOf(l)] = true
	}
	if len(distinct) != 7 || distinct[0] {
		t.Errorf("digests of 7 lists = %v", distinct)
	}
}
