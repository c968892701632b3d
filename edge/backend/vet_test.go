package backend

import (
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestVetTools(t *testing.T) {
	for name, test := range map[string]struct {
		tool *pb.Tool
		kept bool
		want string // in the problem; empty: none
	}{
		"plain":             {&pb.Tool{Name: "a"}, true, ""},
		"schemas":           {&pb.Tool{Name: "a", InputSchemaJson: ` {"type":"object","x":1}`, OutputSchemaJson: `{"type":"array"}`, MetaJson: `{}`}, true, ""},
		"no name":           {&pb.Tool{}, false, "name is empty"},
		"odd name":          {&pb.Tool{Name: "a b"}, true, "A-Za-z0-9"},
		"long name":         {&pb.Tool{Name: strings.Repeat("a", 65)}, true, "1 to 64"},
		"broken schema":     {&pb.Tool{Name: "a", InputSchemaJson: `{"type":`}, false, "input_schema_json is no JSON object"},
		"trailing text":     {&pb.Tool{Name: "a", InputSchemaJson: `{"type":"object"} x`}, false, "input_schema_json"},
		"schema array":      {&pb.Tool{Name: "a", InputSchemaJson: `[]`}, false, "input_schema_json"},
		"schema null":       {&pb.Tool{Name: "a", InputSchemaJson: `null`}, false, "null"},
		"schema no object":  {&pb.Tool{Name: "a", InputSchemaJson: `{"type":"string"}`}, false, `must be "object"`},
		"schema no type":    {&pb.Tool{Name: "a", InputSchemaJson: `{}`}, false, `must be "object"`},
		"broken output":     {&pb.Tool{Name: "a", OutputSchemaJson: `{`}, false, "output_schema_json"},
		"broken meta":       {&pb.Tool{Name: "a", MetaJson: `1`}, false, "meta_json"},
		"icon without src":  {&pb.Tool{Name: "a", Icons: []*pb.Icon{{}}}, true, "src"},
		"icon without flaw": {&pb.Tool{Name: "a", Icons: []*pb.Icon{{Src: "data:x"}}}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var l list
			kept := vet(&l, []*pb.Tool{test.tool}, vetTool)
			verdict(t, &l, len(kept) == 1, test.kept, test.want)
		})
	}
}

func TestVetResources(t *testing.T) {
	for name, test := range map[string]struct {
		resource *pb.Resource
		kept     bool
		want     string
	}{
		"plain":       {&pb.Resource{Uri: "x-y:z", Name: "n", Size: proto.Int64(0)}, true, ""},
		"no uri":      {&pb.Resource{Name: "n"}, false, "uri is empty"},
		"no name":     {&pb.Resource{Uri: "a:b"}, false, "name is empty"},
		"relative":    {&pb.Resource{Uri: "/a", Name: "n"}, false, "not absolute"},
		"odd scheme":  {&pb.Resource{Uri: "1a:b", Name: "n"}, false, "not absolute"},
		"space":       {&pb.Resource{Uri: "a b:c", Name: "n"}, false, "not absolute"},
		"size":        {&pb.Resource{Uri: "a:b", Name: "n", Size: proto.Int64(-1)}, true, "size is -1"},
		"priority":    {&pb.Resource{Uri: "a:b", Name: "n", Annotations: &pb.Annotations{Priority: proto.Float64(2)}}, true, "priority"},
		"no number":   {&pb.Resource{Uri: "a:b", Name: "n", Annotations: &pb.Annotations{Priority: proto.Float64(math.NaN())}}, true, "priority"},
		"audience":    {&pb.Resource{Uri: "a:b", Name: "n", Annotations: &pb.Annotations{Audience: []pb.Role{pb.Role_ROLE_USER, 0}}}, true, "audience"},
		"broken meta": {&pb.Resource{Uri: "a:b", Name: "n", MetaJson: "{"}, false, "meta_json"},
	} {
		t.Run(name, func(t *testing.T) {
			var l list
			kept := vet(&l, []*pb.Resource{test.resource}, vetResource)
			verdict(t, &l, len(kept) == 1, test.kept, test.want)
		})
	}
}

func TestVetTemplatesAndPrompts(t *testing.T) {
	for name, test := range map[string]struct {
		template *pb.ResourceTemplate
		kept     bool
		want     string
	}{
		"plain":   {&pb.ResourceTemplate{UriTemplate: "a:{b}", Name: "n"}, true, ""},
		"empty":   {&pb.ResourceTemplate{Name: "n"}, false, "uri_template is empty"},
		"broken":  {&pb.ResourceTemplate{UriTemplate: "a:{b", Name: "n"}, false, "RFC 6570"},
		"no name": {&pb.ResourceTemplate{UriTemplate: "a:{b}"}, false, "name is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			var l list
			kept := vet(&l, []*pb.ResourceTemplate{test.template}, vetTemplate)
			verdict(t, &l, len(kept) == 1, test.kept, test.want)
		})
	}
	for name, test := range map[string]struct {
		prompt *pb.Prompt
		kept   bool
		want   string
	}{
		"prompt":         {&pb.Prompt{Name: "p", Arguments: []*pb.PromptArgument{{Name: "a"}, {Name: "b"}}}, true, ""},
		"no name":        {&pb.Prompt{}, false, "name is empty"},
		"empty argument": {&pb.Prompt{Name: "p", Arguments: []*pb.PromptArgument{{}}}, false, "arguments[0].name"},
		"same argument":  {&pb.Prompt{Name: "p", Arguments: []*pb.PromptArgument{{Name: "a"}, {Name: "a"}}}, false, "arguments[1].name"},
	} {
		t.Run(name, func(t *testing.T) {
			var l list
			kept := vet(&l, []*pb.Prompt{test.prompt}, vetPrompt)
			verdict(t, &l, len(kept) == 1, test.kept, test.want)
		})
	}
}

func verdict(t *testing.T, l *list, kept, wantKept bool, want string) {
	t.Helper()
	problems := strings.Join(l.problems, "; ")
	if kept != wantKept || !strings.Contains(problems, want) || (want == "") != (problems == "") {
		t.Fatalf("kept %v, problems %q; want kept %v and %q", kept, problems, wantKept, want)
	}
}

func TestVetDuplicates(t *testing.T) {
	var l list
	kept := vet(&l, []*pb.Tool{{Name: "a", Title: "first"}, {Name: "b"}, {Name: "a"}}, vetTool)
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

func TestVetDescribe(t *testing.T) {
	var l list
	d := &pb.DescribeResponse{
		Implementation: &pb.Implementation{Name: "n"},
		ExtensionsJson: map[string]string{"good": `{}`, "bad": `[`},
		Resources:      &pb.ResourceFeatures{UriPrefixes: []string{"", "a:", "b"}},
	}
	vetDescribe(d, func(text string) { l.problem("%s", text) })
	if len(d.ExtensionsJson) != 1 || len(d.Resources.UriPrefixes) != 1 || len(l.problems) != 4 {
		t.Fatalf("described %v, problems %q", d, l.problems)
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
	if digest([]*pb.Tool{a, b}) != digest([]*pb.Tool{proto.CloneOf(a), proto.CloneOf(b)}) {
		t.Error("equal content has different digests")
	}
	distinct := map[uint64]bool{}
	for _, l := range [][]*pb.Tool{nil, {a}, {b}, {a, b}, {b, a}, {{Name: "ab"}}, {{}, {}}} {
		distinct[digest(l)] = true
	}
	if len(distinct) != 7 || distinct[0] {
		t.Errorf("digests of 7 lists = %v", distinct)
	}
}
