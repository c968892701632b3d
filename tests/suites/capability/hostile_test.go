package capability

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// names are of what an object has in some language, though nobody gave it to it.
var names = []string{"constructor", "toString", "__proto__", "hasOwnProperty", "__class__", "hashCode", "", "\x00"}

// The name of an argument is a client's choice: it is nothing that a library takes for its own, and ends no program.
func TestNamesOfTheClientsChoice(t *testing.T) {
	conn := dial(t)
	prompts, resources, tools := pb.NewPromptServiceClient(conn), pb.NewResourceServiceClient(conn), pb.NewToolServiceClient(conn)
	for _, name := range names {
		prompt, err := prompts.CompletePrompt(limit(t), &pb.CompletePromptRequest{Name: "greet", ArgumentName: name, ArgumentValue: "c"})
		if len(prompt.GetValues()) > 0 || err != nil && status.Code(err) != codes.InvalidArgument {
			t.Errorf("the argument %q of a prompt is completed: %v, %v", name, prompt.GetValues(), err)
		}
		template, err := resources.CompleteResourceTemplate(limit(t),
			&pb.CompleteResourceTemplateRequest{UriTemplate: "fixture://item/{id}", ArgumentName: name, ArgumentValue: "a"})
		if len(template.GetValues()) > 0 || err != nil && status.Code(err) != codes.InvalidArgument {
			t.Errorf("the variable %q of a template is completed: %v, %v", name, template.GetValues(), err)
		}
		stream, err := prompts.GetPrompt(limit(t), &pb.GetPromptRequest{Name: "greet", Arguments: map[string]string{"name": "Ada", name: "calm"}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := stream.Recv()
		if reason := r.GetFailure().GetReason(); err != nil || r.GetResult() == nil && reason != pb.FailureReason_FAILURE_REASON_INVALID_ARGUMENT {
			t.Errorf("a prompt with the argument %q: %v, %v", name, r, err)
		}
		tool, err := tools.CallTool(limit(t), &pb.CallToolRequest{Name: name, ArgumentsJson: "{}"})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := tool.Recv(); err != nil || r.GetFailure().GetReason() != pb.FailureReason_FAILURE_REASON_NOT_FOUND {
			t.Errorf("the tool %q: %v, %v, want NOT_FOUND", name, r, err)
		}
		if stream, err = prompts.GetPrompt(limit(t), &pb.GetPromptRequest{Name: name}); err != nil {
			t.Fatal(err)
		}
		if r, err := stream.Recv(); err != nil || r.GetFailure().GetReason() != pb.FailureReason_FAILURE_REASON_NOT_FOUND {
			t.Errorf("the prompt %q: %v, %v, want NOT_FOUND", name, r, err)
		}
	}
}

// A URI is a client's choice: of any length, and with escapes that are none, it is read or is not there.
func TestURIsOfTheClientsChoice(t *testing.T) {
	long := strings.Repeat("x", 8000)
	reads(t, map[string]string{
		"fixture://item/" + long:         "item " + long,
		"fixture://tree/root" + long:     "root" + long,
		"fixture://tree/root/%zz":        "root/%zz",
		"fixture://item/%zz":             "",
		"fixture://item/café":            "",
		"fixture://item/a/" + long:       "",
		"fixture://many/" + long:         "",
		"fixture://item/{id}":            "",
		"fixture://tree/../fixture/tree": "",
		long:                             "",
	})
}

// What the variables of a template are is the same in each language: the longest value from the left with which the rest matches, of a URI in
// each of its spellings; testdata/templates.json has more of them, which each library tests by itself. Each URI is answered at once, however
// many values could be tried.
func TestTemplates(t *testing.T) {
	dashes, commas := strings.Repeat("-", 8000), strings.Repeat(",", 8000)
	reads(t, map[string]string{
		"fixture://file/a.tar.gz":          "a.tar|gz",
		"fixture://file/.":                 "|",
		"fixture://file/a":                 "",
		"fixture://span/1-2-3":             "1|2|3",
		"fixture://span/1-2-3-4":           "1-2|3|4",
		"fixture://span/%2D-%2d-":          "-|-|",
		"fixture://span/1-2":               "",
		"fixture://span/" + dashes:         dashes[2:] + "||",
		"fixture://span/" + dashes + "/":   "",
		"fixture://span/" + dashes + "/-":  "",
		"fixture://path/a/b/c":             "a/b|c",
		"fixture://path/a?b=c#d/e":         "a?b=c#d|e",
		"fixture://path/a b/c":             "",
		"fixture://path/" + dashes[:4000]:  "",
		"fixture://found":                  "|",
		"fixture://found?q=black%20tea":    "black tea|",
		"fixture://found?page=2":           "|2",
		"fixture://found?q=1&page=2":       "1|2",
		"fixture://found?page=2&q=1":       "",
		"fixture://found?q=a,b":            "a,b|",
		"fixture://item/" + commas + "/":   "",
		"FIXTURE://it%65m/%61%2fb":         "item a/b",
		"FIXTURE://span/%2D-%2d-":          "--||",
		"fixture://item/%%34%31":           "",
		"fixture://café/menu":              "menu",
		"fixture://caf%C3%A9/menu":         "menu",
		"FIXTURE://c%61f%c3%a9/m%65nu":     "menu",
		"fixture://caf%C3%A9/la carte":     "",
		"fixture://found?" + dashes + "=1": "",
	})
}

// reads reads each URI and wants its text; empty: that there is no such resource.
func reads(t *testing.T, want map[string]string) {
	t.Helper()
	resources := pb.NewResourceServiceClient(dial(t))
	for uri, want := range want {
		stream, err := resources.ReadResource(limit(t), &pb.ReadResourceRequest{Uri: uri})
		if err != nil {
			t.Fatal(err)
		}
		r, err := stream.Recv()
		switch contents := r.GetResult().GetContents(); {
		case err != nil:
			t.Errorf("%.60s: %v", uri, err)
		case want == "" && r.GetFailure().GetReason() != pb.FailureReason_FAILURE_REASON_NOT_FOUND:
			t.Errorf("%.60s: %.200v, want NOT_FOUND", uri, r)
		case want != "" && (len(contents) != 1 || contents[0].GetText() != want):
			t.Errorf("%.60s: %.200v, want %.60s", uri, r, want)
		}
	}
}
