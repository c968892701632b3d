package vet

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestTools(t *testing.T) {
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
		"broken schema":     {&pb.Tool{Name: "a", InputSchemaJson: `{"type":`}, false, "input_schema_json is not a JSON object"},
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
			verdict(t, test.tool, Tool, test.kept, test.want)
		})
	}
}

func TestResources(t *testing.T) {
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
		"letters":     {&pb.Resource{Uri: "doc://notes/café menu.txt", Name: "n"}, true, ""},
		"long":        {&pb.Resource{Uri: "a:" + strings.Repeat("b", 8<<10), Name: "n"}, false, "8194 bytes"},
		"no escape":   {&pb.Resource{Uri: "a:100%", Name: "n"}, false, "write %25"},
		"control":     {&pb.Resource{Uri: "a:b\nc", Name: "n"}, false, "control character"},
		"size":        {&pb.Resource{Uri: "a:b", Name: "n", Size: proto.Int64(-1)}, true, "size is -1"},
		"priority":    {&pb.Resource{Uri: "a:b", Name: "n", Annotations: &pb.Annotations{Priority: proto.Float64(2)}}, true, "priority"},
		"no number":   {&pb.Resource{Uri: "a:b", Name: "n", Annotations: &pb.Annotations{Priority: proto.Float64(math.NaN())}}, true, "priority"},
		"audience":    {&pb.Resource{Uri: "a:b", Name: "n", Annotations: &pb.Annotations{Audience: []pb.Role{pb.Role_ROLE_USER, 0}}}, true, "audience"},
		"broken meta": {&pb.Resource{Uri: "a:b", Name: "n", MetaJson: "{"}, false, "meta_json"},
	} {
		t.Run(name, func(t *testing.T) {
			verdict(t, test.resource, Resource, test.kept, test.want)
		})
	}
}

func TestTemplatesAndPrompts(t *testing.T) {
	for name, test := range map[string]struct {
		template *pb.ResourceTemplate
		kept     bool
		want     string
	}{
		"plain":   {&pb.ResourceTemplate{UriTemplate: "a:{b}", Name: "n"}, true, ""},
		"empty":   {&pb.ResourceTemplate{Name: "n"}, false, "uri_template is empty"},
		"broken":  {&pb.ResourceTemplate{UriTemplate: "a:{b", Name: "n"}, false, "RFC 6570"},
		"no name": {&pb.ResourceTemplate{UriTemplate: "a:{b}"}, false, "name is empty"},
		"letters": {&pb.ResourceTemplate{UriTemplate: "file:///docs/café/{name}", Name: "n"}, true, ""},
		"twice":   {&pb.ResourceTemplate{UriTemplate: "a:{b}/{b}", Name: "n"}, false, "twice"},
		"costly":  {&pb.ResourceTemplate{UriTemplate: "a:" + strings.Repeat("{v:9999}", 65), Name: "n"}, false, "twice"},
		"long":    {&pb.ResourceTemplate{UriTemplate: "a:{b}" + strings.Repeat("c", 8<<10), Name: "n"}, false, "8197 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			verdict(t, test.template, Template, test.kept, test.want)
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
			verdict(t, test.prompt, Prompt, test.kept, test.want)
		})
	}
}

// verdict holds the judgement of an entry against what is expected: whether it is shown, and what is said of it.
func verdict[T any](t *testing.T, entry T, judge func(T, func(string)) (string, error), wantKept bool, want string) {
	t.Helper()
	var said []string
	_, err := judge(entry, func(text string) { said = append(said, text) })
	if err != nil {
		said = append(said, err.Error())
	}
	problems := strings.Join(said, "; ")
	if kept := err == nil; kept != wantKept || !strings.Contains(problems, want) || (want == "") != (problems == "") {
		t.Fatalf("kept %v, problems %q; want kept %v and %q", kept, problems, wantKept, want)
	}
}

func TestDescribe(t *testing.T) {
	var notes []string
	d := &pb.DescribeResponse{
		Implementation: &pb.Implementation{Name: "n"},
		ExtensionsJson: map[string]string{"good": `{}`, "bad": `[`},
		Resources:      &pb.ResourceFeatures{UriPrefixes: []string{"", "a:", "b"}},
	}
	Describe(d, func(text string) { notes = append(notes, text) })
	if len(d.ExtensionsJson) != 1 || len(d.Resources.UriPrefixes) != 1 || len(notes) != 4 {
		t.Fatalf("described %v, problems %q", d, notes)
	}
}
