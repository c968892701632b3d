package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/check/lint"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Tools that model interfaces refuse break no contract: they are notes, by tool, interface, place and rule, about
// what clients are shown.
func TestCheckLints(t *testing.T) {
	x := newSample()
	x.tools = []*pb.Tool{
		{Name: "seek", InputSchemaJson: `{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},"labels":{"type":"object","additionalProperties":{"type":"string"}}},"oneOf":[{"required":["id"]},{"required":["name"]}]}`},
		{Name: "dotted.name", InputSchemaJson: `{"type":"object","properties":{}}`},
	}
	addr := x.serve(t, 0)
	for name, c := range map[string]struct {
		full      bool
		want, not []string
	}{
		"portable": {false,
			[]string{
				"ok      tools keep the rules of gemini\n",
				`note    tool "x_dotted.name": anthropic: /: name: the tool's name "x_dotted.name" does not match`,
				"note    anthropic: 1 of 2 tools break its rules, and it may refuse all of them together",
				`note    openai-strict: at 1 places not all arguments can be given, such as tool "x_seek": openai-strict: /properties/labels: open-object`,
			},
			[]string{"oneOf", `"x_seek": anthropic`, "lists: {schemas: portable}"}},
		"full": {true,
			[]string{
				`note    tool "x_seek": anthropic: /oneOf: root-combinators: oneOf stands at the root`,
				`note    tool "x_seek": openai: /oneOf: root-combinators`,
				`note    tool "x_seek": gemini: /oneOf: keywords`,
				"note    anthropic: 2 of 2 tools break its rules, and it may refuse all of them together; schemas: portable in this backend's settings",
			},
			[]string{"keep the rules"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			_ = run(t.Context(), backend.Config{Name: "x", Prefix: "x_", Target: addr, FullSchemas: c.full}, &Trial{Schemas: true}, &out, &patient)
			noBreach(t, out.String())
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in:\n%s", want, out.String())
				}
			}
			for _, not := range c.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("%q is in:\n%s", not, out.String())
				}
			}
		})
	}
}

// Without --schemas the rules of model interfaces take two lines of a backend's report.
func TestCheckFoldsLints(t *testing.T) {
	x := newSample()
	x.tools = nil
	for i := range 5 {
		x.tools = append(x.tools, &pb.Tool{Name: fmt.Sprintf("a.%d", i), InputSchemaJson: `{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string"}}}}`})
	}
	var out strings.Builder
	_ = run(t.Context(), backend.Config{Name: "x", Target: x.serve(t, 0), FullSchemas: true}, nil, &out, &patient)
	noBreach(t, out.String())
	lines := 0
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "anthropic") || strings.Contains(line, "openai") {
			lines++
		}
	}
	for _, want := range []string{
		"note    rules of model interfaces are broken, each of which may refuse all tools together for it: anthropic by 5 of 5 tools, openai by 5 of 5 tools",
		`; the first: tool "a.0": anthropic: /: name: `, "; --schemas names each place",
		"note    not all arguments can be given: openai-strict at 5 places; the first: tool \"a.0\": openai-strict: /properties/labels/additionalProperties: open-object",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &out)
		}
	}
	if lines != 2 {
		t.Errorf("%d lines:\n%s", lines, &out)
	}
}

// noBreach wants no rule of a model interface among the breaches of the contract, of which the fake has others.
func noBreach(t *testing.T, report string) {
	t.Helper()
	for line := range strings.Lines(report) {
		for _, p := range lint.Profiles {
			if strings.HasPrefix(line, "  breaks") && strings.Contains(line, string(p)) {
				t.Errorf("it is a breach: %s", line)
			}
		}
	}
}

// Of many findings of one interface the first are printed, with how many there are.
func TestCheckBoundsItsNotes(t *testing.T) {
	var tools []*pb.Tool
	for i := range maxLintLines + 5 {
		tools = append(tools, &pb.Tool{Name: fmt.Sprintf("a.%d", i), InputSchemaJson: `{"type":"object","properties":{}}`})
	}
	x := newSample()
	x.tools = tools
	addr := x.serve(t, 0)
	var out strings.Builder
	_ = run(t.Context(), backend.Config{Name: "x", Target: addr}, &Trial{Schemas: true}, &out, &patient)
	noBreach(t, out.String())
	if n := strings.Count(out.String(), ": openai: /: name: "); n != maxLintLines {
		t.Errorf("%d lines of one interface", n)
	}
	for _, want := range []string{"note    and 5 more of the kind\n", "note    openai: 25 of 25 tools break its rules"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

// What clients see is checked: the catalog's names and schemas, without hidden tools.
func TestCheckLintsWhatTheCatalogShows(t *testing.T) {
	x := newSample()
	const open, closed = `{"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"required":["a"]}]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`
	x.tools = []*pb.Tool{{Name: "hidden", InputSchemaJson: open}, {Name: "mended", InputSchemaJson: open}, {Name: "long", InputSchemaJson: closed}, {Name: strings.Repeat("x", 63), InputSchemaJson: closed}}
	long := strings.Repeat("y", 65)
	curate := func(_ string, t *pb.Tool) Curated {
		return map[string]Curated{
			"hidden": {Hidden: true}, "mended": {Shown: &pb.Tool{Name: "mended", InputSchemaJson: closed}}, "long": {Name: long}, strings.Repeat("x", 63): {Name: "short"},
		}[t.GetName()]
	}
	var out strings.Builder
	_ = run(t.Context(), backend.Config{Name: "x", Prefix: "x_", Target: x.serve(t, 0), FullSchemas: true}, &Trial{Schemas: true, Curate: curate}, &out, &patient)
	noBreach(t, out.String())
	for _, want := range []string{`note    tool "` + long + `": openai: /: name: `, "note    openai: 1 of 3 tools break its rules", "ok      tools keep the rules of anthropic\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
	if got := out.String(); strings.Contains(got, "oneOf stands") || strings.Contains(got, `note    tool "short": `) || strings.Contains(got, `note    tool "x_hidden": `) {
		t.Errorf("what clients do not see is checked:\n%s", got)
	}
}

// Schemas that are not shown since those of the tools before them take too much work are reported.
func TestCheckTellsOfWithheldSchemas(t *testing.T) {
	var tools []lint.Tool
	for i := range 10 {
		tools = append(tools, lint.Tool{Name: fmt.Sprintf("t%d", i), Schema: `{"type":"object","properties":{"a":{"type":"string"}}}`})
	}
	f := &findings{}
	f.lint(tools, portable.NewList(300), true)
	want := "of the last 7 of 10 tools the arguments are shown as any object"
	if !strings.Contains(f.text.String(), want) || f.breaches > 0 {
		t.Errorf("%q is missing in:\n%s", want, f.text.String())
	}
	all := &findings{}
	if all.lint(tools, portable.NewList(0), true); strings.Contains(all.text.String(), "too large") {
		t.Errorf("noted without a reason: %s", all.text.String())
	}
}
