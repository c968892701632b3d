package translate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

func TestParseCompletion(t *testing.T) {
	call := callOf(t, mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"p","title":"P"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"1","a":"another value of what is completed"}}}`)
	for _, r := range revision.All() {
		want := Completion{Prompt: true, Target: "p", Argument: "a"}
		if r.CompletionContext {
			want.Arguments = map[string]string{"b": "1"}
		}
		got, err := ParseCompletion(r, call)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", r.Version, d)
		}
	}
	got, err := ParseCompletion(r2607, callOf(t, mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":"a:{b}"},"argument":{"name":"b","value":"v"},"context":{}}`))
	if d := cmp.Diff(Completion{Target: "a:{b}", Argument: "b", Value: "v"}, got); d != "" || err != nil {
		t.Errorf("error %v, %s", err, d)
	}
	const ref, argument = `"ref":{"type":"ref/prompt","name":"p"}`, `"argument":{"name":"a","value":"v"}`
	for params, part := range map[string]string{
		`{` + argument + `}`: "params.ref: missing",
		`{"ref":{"type":"ref/tool","name":"p"},` + argument + `}`:     `params.ref.type: "ref/tool"`,
		`{"ref":{"type":"ref/prompt","uri":"p"},` + argument + `}`:    "params.ref.name: missing",
		`{"ref":{"type":"ref/resource","name":"p"},` + argument + `}`: "params.ref.uri: missing",
		`{` + ref + `}`:                                                  "params.argument: missing",
		`{` + ref + `,"argument":{"name":"a"}}`:                          "params.argument.value: missing",
		`{` + ref + `,"argument":{"name":1,"value":"v"}}`:                "params.argument.name: number",
		`{` + ref + `,` + argument + `,"context":[]}`:                    "params.context: array",
		`{` + ref + `,` + argument + `,"context":{"arguments":{"a":1}}}`: "params.context.arguments.a: number",
	} {
		_, err := ParseCompletion(r2607, callOf(t, mcp.MethodComplete, params))
		refused(t, err, mcp.KindInvalidParams, part)
	}
}

func TestCompleteResult(t *testing.T) {
	many := make([]string, 101)
	hundred := `"",` + strings.Repeat(`"",`, 98) + `""`
	tests := []struct {
		name   string
		values []string
		total  *int32
		more   bool
		want   string
	}{
		{"none", nil, nil, false, `{"completion":{"values":[],"hasMore":false}`},
		{"some", []string{"a", "b"}, ptr(int32(5)), true, `{"completion":{"values":["a","b"],"total":5,"hasMore":true}`},
		{"too many", many, ptr(int32(101)), false, `{"completion":{"values":[` + hundred + `],"total":101,"hasMore":true}`},
		{"odd total", []string{"a"}, ptr(int32(-1)), false, `{"completion":{"values":["a"],"hasMore":false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			byRevision{0: tt.want + `}`, 4: tt.want + tail + `}`}.each(t, func(t *testing.T, r *revision.Rules, want string) {
				same(t, r, "CompleteResult", CompleteResult(r, server, tt.values, tt.total, tt.more), want)
			})
		})
	}
}
