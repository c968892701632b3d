package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// tryable are tools whose arguments are pinned in different ways.
func tryable(name string) *fake {
	return &fake{name: name, tools: []*pb.Tool{
		{Name: "find", InputSchemaJson: findSchema},
		{Name: "free", InputSchemaJson: `{"type":"object"}`},
		{Name: "look", InputSchemaJson: findSchema, Annotations: &pb.ToolAnnotations{ReadOnly: proto.Bool(true)}},
	}, prompts: []*pb.Prompt{{Name: "hint", Arguments: []*pb.PromptArgument{{Name: "tenantId", Required: true}, {Name: "query"}}}}}
}

// drawnEntries returns entries about tryable, with arguments of which some are pinned in audit mode.
func drawnEntries(r *rapid.T, place string) (out []overlay.Entry) {
	tenant, err := policy.CompileValue("principal.claims.tenant")
	if err != nil {
		r.Fatal(err)
	}
	for i := range rapid.IntRange(0, 4).Draw(r, "entries") {
		at := fmt.Sprint(place, i)
		e := overlay.Entry{Place: at, Backend: "one", Names: pattern.New(rapid.SampledFrom([]string{"find", "f*", "*", "hint", "look"}).Draw(r, "names"))}
		for _, name := range []string{"limit", "tenantId", "verbose", "gone"} {
			a := overlay.Argument{Name: name, Place: at}
			switch rapid.IntRange(0, 5).Draw(r, "change of "+name) {
			case 0:
				a.Pin = tenant
				e.Trials = append(e.Trials, a)
			case 1:
				a.Pin = overlay.Fixed(`"v"`)
				e.Trials = append(e.Trials, a)
			case 2:
				if name == "tenantId" {
					a.Pin = tenant
					e.Arguments = append(e.Arguments, a)
				}
			case 3:
				if name == "limit" {
					a.Default = json.RawMessage(`20`)
					e.Arguments = append(e.Arguments, a)
				}
			}
		}
		out = append(out, e)
	}
	return out
}

// withoutTrials returns copies of entries that have no pins in audit mode.
func withoutTrials(entries []overlay.Entry) []overlay.Entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].Trials = nil
	}
	return out
}

// Lists, decisions, errors and what backends get are the same with and without pins in audit mode.
func TestPinsInAuditModeChangeNothing(t *testing.T) {
	c := control(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{
		{Name: "tenants", Then: policy.Deny, When: `has(arguments.tenantId) && arguments.tenantId == "evil"`},
		{Name: "limits", Then: policy.Hide, When: `has(arguments.limit) && arguments.limit == 20 && tool.name == "look"`},
	}})
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}, Access: func() *access.Decider { return c.InForce() }}, tryable("one"))
	tried, reached := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		entries := append(drawnEntries(r, "platform"), drawnEntries(r, "owner")...)
		for i := range entries {
			tried += len(entries[i].Trials)
		}
		who := callerOf(rapid.SampledFrom([]string{"", `"acme"`, `"evil"`, `7`}).Draw(r, "claim"))
		args := rapid.SampledFrom([]string{
			`{}`, `{"query":"x"}`, `{"query":"x","limit":3,"tenantId":"acme"}`, `{"query":"x","limit":null,"tenant_id":"evil"}`, `{"TENANTID":"evil","query":"x","limit":20}`,
			`{"query":"x","limit":1,"tenantId":null}`, `{"tenantId":"evil","query":"x","limit":2,"verbose":true}`, `[]`, `{"a":1,"a":2}`,
		}).Draw(r, "arguments")
		seen := func(entries []overlay.Entry) (out []string) {
			d.Catalog().Replace(overlay.New(overlay.Entries{Tools: entries, Prompts: entries}), nil, func() {}, false)
			for _, m := range []mcp.Method{mcp.MethodToolsList, mcp.MethodPromptsList} {
				reply, err := d.Call(t.Context(), rules(t, modern), request(t, m, `{}`), nil)
				out = append(out, fmt.Sprint(string(reply.Result), err))
			}
			for _, params := range []string{`{"name":"find","arguments":` + args + `}`, `{"name":"free","arguments":` + args + `}`, `{"name":"look","arguments":` + args + `}`, `{"name":"hint","arguments":` + args + `}`} {
				method := mcp.MethodToolsCall
				if params[9:13] == "hint" {
					method = mcp.MethodPromptsGet
				}
				call := request(t, method, params)
				call.Principal = who
				target, err := d.Resolve(t.Context(), rules(t, modern), call)
				if err != nil {
					out = append(out, "refused: "+err.Error())
					continue
				}
				call.Target = target
				reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
				if err == nil {
					reached++
				}
				out = append(out, fmt.Sprint(target.Backend, target.Repeatable, string(call.Params.Arguments), string(call.Params.Added()), call.Backend, string(reply.Result), err))
			}
			return out
		}
		with, without := seen(entries), seen(withoutTrials(entries))
		for i := range with {
			if with[i] != without[i] {
				r.Errorf("with pins in audit mode\n%s\nwithout\n%s", with[i], without[i])
			}
		}
	})
	if tried == 0 || reached == 0 {
		t.Errorf("%d pins were in audit mode, and %d calls reached the backend", tried, reached)
	}
}

// A pin in audit mode that would hide its tool or prompt is a problem of the backend, and hides nothing.
func TestImpossiblePinInAuditMode(t *testing.T) {
	pin := func(name string) overlay.Entry {
		return overlay.Entry{Backend: "one", Names: pattern.New(name), Trials: []overlay.Argument{{Name: "gone", Pin: overlay.Fixed(`"v"`), Place: "here"}}}
	}
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(overlay.Entries{Tools: []overlay.Entry{pin("find")}, Prompts: []overlay.Entry{pin("hint")}})}}, tryable("one"))
	want := []string{
		`the tool "find" would be hidden if here.arguments.gone were not in audit mode: it has no argument "gone"`,
		`the prompt "hint" would be hidden if here.arguments.gone were not in audit mode: it has no argument "gone"`,
	}
	if got := d.Catalog().Problems("one"); !slices.Equal(got, want) {
		t.Errorf("the problems are %q", got)
	}
	for method, name := range map[mcp.Method]string{mcp.MethodToolsCall: "find", mcp.MethodPromptsGet: "hint"} {
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{"name":"`+name+`","arguments":{"tenantId":"a"}}`), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
