package dispatch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/quota"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// hinted are the tools of both backends of TestCurationChangesNoDecision, with hints of every kind.
var hinted = map[string]*pb.ToolAnnotations{
	"find": {ReadOnly: proto.Bool(true), OpenWorld: proto.Bool(false)},
	"drop": nil,
	"save": {Idempotent: proto.Bool(true), Destructive: proto.Bool(false)},
	"list": {ReadOnly: proto.Bool(true)},
}

// prefixes are those of both backends, by name.
var prefixes = map[string]string{"one": "", "two": "b_"}

// naming is what clients call a tool by, and the name that lists have.
type naming struct{ called, shown string }

// verdict is everything that is decided about the calls of one tool by one caller.
type verdict struct {
	backend    string
	repeatable bool
	// listed is whether the tool is listed under the name that the catalog gives it.
	listed bool
	// first and second are the results of two calls in a row, or their errors.
	first, second string
}

// Whatever names, aliases, titles, descriptions, groups and looser hints the catalog gives to tools, rules, scopes and quotas decide as
// without it, and the same lost calls are run again. Stricter hints only refuse more, and only by rules about hints.
func TestCurationChangesNoDecision(t *testing.T) {
	var in atomic.Pointer[access.Control]
	in.Store(control(t, openRules))
	var fakes []*fake
	for _, name := range []string{"one", "two"} {
		f := &fake{name: name, prefix: prefixes[name]}
		for _, tool := range slices.Sorted(maps.Keys(hinted)) {
			f.tools = append(f.tools, &pb.Tool{Name: tool, Annotations: hinted[tool]})
		}
		fakes = append(fakes, f)
	}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}, Access: func() *access.Decider { return in.Load().InForce() }}, fakes...)
	refused, allowed := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		o, names, stricter := drawnOverlay(r)
		settings, quotas, caller := drawnPolicy(r), drawnQuotas(r, len(stricter) == 0), drawnCaller(r)
		compiled, err := policy.Compile(settings)
		if err != nil {
			r.Fatal(err)
		}
		decide := func(o *overlay.Overlay, names map[string]naming) map[string]verdict {
			c := access.New(access.Options{Policy: compiled, Authenticates: true, Quotas: quota.New(quota.Options{Rules: quotas})})
			d.Catalog().Replace(o, nil, func() { in.Store(c) }, false)
			return verdicts(t, r, d, caller, names)
		}
		plain := map[string]naming{}
		for backend, prefix := range prefixes {
			for tool := range hinted {
				plain[backend+"/"+tool] = naming{prefix + tool, prefix + tool}
			}
		}
		before, after := decide(nil, plain), decide(o, names)
		for tool, was := range before {
			is := after[tool]
			if strings.HasPrefix(was.first, "called") {
				allowed++
			} else {
				refused++
			}
			if stricter[tool] {
				if is.repeatable && !was.repeatable {
					r.Errorf("%s, as %+v, is run again with a stricter hint only", tool, names[tool])
				}
				if is.first != was.first && !strings.Contains(is.first, `"hints`) && !is.hidden() {
					r.Errorf("%s, as %+v with stricter hints: %q, without: %q", tool, names[tool], is.first, was.first)
				}
				continue
			}
			if is != was {
				r.Errorf("%s, as %+v:\n%+v\nwithout the catalog:\n%+v\nby %+v, %+v", tool, names[tool], is, was, settings, quotas)
			}
		}
	})
	if refused == 0 || allowed == 0 {
		t.Errorf("%d calls were refused, %d allowed: the policies say nothing", refused, allowed)
	}
}

// hidden reports whether a rule hides the tool.
func (v verdict) hidden() bool { return strings.HasPrefix(v.first, "unknown") }

// verdicts returns what is decided about all tools. names has what clients call each by.
func verdicts(t *testing.T, r *rapid.T, d *Dispatch, caller mcp.Principal, names map[string]naming) map[string]verdict {
	page, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, caller)
	if err != nil {
		r.Fatal(err)
	}
	listed := page.names()
	out := map[string]verdict{}
	for _, tool := range slices.Sorted(maps.Keys(names)) {
		v := verdict{listed: slices.Contains(listed, names[tool].shown)}
		for _, result := range []*string{&v.first, &v.second} {
			call := request(t, mcp.MethodToolsCall, fmt.Sprintf(`{"name":%q,"arguments":{"q":1}}`, names[tool].called))
			call.Principal = caller
			target, err := d.Resolve(t.Context(), rules(t, modern), call)
			if err == nil {
				v.backend, v.repeatable = target.Backend, target.Repeatable
				call.Target = target
				var reply mcp.Reply
				if reply, err = d.Call(t.Context(), rules(t, modern), call, nil); err == nil {
					*result = "called " + tool
					if !strings.Contains(string(reply.Result), "called "+tool+" ") {
						r.Errorf("%s was called as %+v: %s", tool, names[tool], reply.Result)
					}
				}
			}
			if err != nil {
				*result = refusedBy(t, err)
			}
		}
		out[tool] = v
	}
	return out
}

// refusedBy describes a refusal without the name of the tool and the time.
func refusedBy(t *testing.T, err error) string {
	var e *mcp.Error
	switch {
	case kindOf(t, err) == mcp.KindUnknownTool:
		return "unknown"
	case errors.As(err, &e) && e.Kind == mcp.KindLimit:
		text, _, _ := strings.Cut(e.Message, ":")
		return text
	case e != nil && e.Challenge != nil:
		return fmt.Sprint(e.Message, e.Challenge.Scopes)
	}
	return err.Error()
}

// conditions are those of drawn rules. The last ones are about hints.
var conditions = []string{
	`tool.name == "find"`, `tool.name.startsWith("b_")`, `tool.backend == "two"`, `"dev" in principal.roles`, `tool.name in ["drop", "b_save"]`,
	`has(arguments.q) && tool.name.endsWith("save")`, `tool.name == "renamed_1" || tool.name == "old_1"`,
	`tool.annotations.destructive`, `tool.annotations.read_only`, `!tool.annotations.idempotent && tool.annotations.open_world`,
}

// hintConditions is how many of conditions are about hints.
const hintConditions = 3

func drawnPolicy(r *rapid.T) policy.Settings {
	s := policy.Settings{Default: rapid.SampledFrom([]policy.Effect{policy.Allow, policy.Deny}).Draw(r, "default")}
	for i := range rapid.IntRange(0, 4).Draw(r, "rules") {
		n := rapid.IntRange(0, len(conditions)-1).Draw(r, "condition")
		name := fmt.Sprint("rule ", i)
		effect := rapid.SampledFrom([]policy.Effect{policy.Allow, policy.Deny, policy.Hide}).Draw(r, "then")
		if n >= len(conditions)-hintConditions { // only those that stricter hints make refuse
			name, effect = fmt.Sprint("hints", i), policy.Deny
			if n == len(conditions)-2 {
				continue
			}
		}
		s.Rules = append(s.Rules, policy.Rule{Name: name, When: conditions[n], Then: effect})
	}
	if rapid.Bool().Draw(r, "scopes") {
		s.Scopes = []policy.Scopes{{Tools: []string{rapid.SampledFrom([]string{"find", "b_*", "*save", "renamed_*"}).Draw(r, "tools")}, Need: []string{"write"}}}
	}
	return s
}

// drawnQuotas returns rules of which some are about several tools if shared is true: then a call that one refuses changes what others get.
func drawnQuotas(r *rapid.T, shared bool) (out []quota.Rule) {
	pers := []quota.Per{quota.PerTool, quota.PerPrincipalTool}
	if shared {
		pers = append(pers, quota.PerPrincipalBackend)
	}
	for i := range rapid.IntRange(0, 2).Draw(r, "quotas") {
		out = append(out, quota.Rule{
			Name:   fmt.Sprint("quota ", i),
			Per:    rapid.SampledFrom(pers).Draw(r, "per"),
			Tools:  pattern.NewList([]string{rapid.SampledFrom([]string{"find", "b_*", "*save", "renamed_*", "*"}).Draw(r, "tools")}),
			Budget: quota.Budget{Interval: time.Hour, Burst: rapid.IntRange(1, 3).Draw(r, "burst")},
		})
	}
	return out
}

func drawnCaller(r *rapid.T) mcp.Principal {
	p := mcp.Principal{Issuer: "https://id", Subject: "alice"}
	if rapid.Bool().Draw(r, "dev") {
		p.Roles = []string{"dev"}
	}
	if rapid.Bool().Draw(r, "writes") {
		p.Scopes = []string{"write"}
	}
	return p
}

// drawnOverlay returns a catalog that hides nothing, the names of its tools, and which of them have a stricter hint than the backend's.
func drawnOverlay(r *rapid.T) (o *overlay.Overlay, names map[string]naming, stricter map[string]bool) {
	names, stricter = map[string]naming{}, map[string]bool{}
	// Names of other tools, too: those that exchange names, in a ring.
	var tools []string
	for backend := range prefixes {
		for tool := range hinted {
			tools = append(tools, backend+"/"+tool)
		}
	}
	slices.Sort(tools)
	tools = rapid.Permutation(tools).Draw(r, "tools")
	canonical := func(tool string) string {
		backend, own, _ := strings.Cut(tool, "/")
		return prefixes[backend] + own
	}
	ring := rapid.SampledFrom([]int{0, 2, 3, 5}).Draw(r, "ring")
	hints := rapid.Bool().Draw(r, "hints")
	var entries []overlay.Entry
	for i, tool := range tools {
		backend, own, _ := strings.Cut(tool, "/")
		e := overlay.Entry{Backend: backend, Names: pattern.New(own)}
		switch {
		case i < ring:
			e.Name = canonical(tools[(i+1)%ring])
		case rapid.Bool().Draw(r, "renamed"):
			e.Name = fmt.Sprint("renamed_", i)
		}
		shown := cmp.Or(e.Name, canonical(tool))
		names[tool] = naming{shown, shown}
		if rapid.Bool().Draw(r, "alias") {
			e.Aliases = []string{fmt.Sprint("old_", i)}
			names[tool] = naming{rapid.SampledFrom([]string{shown, e.Aliases[0]}).Draw(r, "called"), shown}
		}
		if rapid.Bool().Draw(r, "described") {
			e.Title, e.Description, e.Groups = "Title", "Description", []string{"group"}
		}
		hint := func(label string, has *bool, byDefault, strict bool) *bool {
			if !rapid.Bool().Draw(r, label) {
				return nil
			}
			v := rapid.Bool().Draw(r, label+" is")
			was := byDefault
			if has != nil {
				was = *has
			}
			if v == strict && was != strict {
				stricter[tool] = true
			}
			return &v
		}
		if !hints {
			entries = append(entries, e)
			continue
		}
		a := hinted[own]
		if a == nil {
			a = &pb.ToolAnnotations{}
		}
		e.Annotations = overlay.Annotations{
			ReadOnly: hint("readOnly", a.ReadOnly, false, false), Destructive: hint("destructive", a.Destructive, !a.GetReadOnly(), true),
			Idempotent: hint("idempotent", a.Idempotent, false, false), OpenWorld: hint("openWorld", a.OpenWorld, true, true),
		}
		entries = append(entries, e)
	}
	return overlay.New(overlay.Entries{Tools: entries}), names, stricter
}

// A header mirrors the argument that the client sent, and no default of the catalog, of which the client does not know.
func TestHeadersAndDefaults(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: `{"type":"object","properties":{"query":{"type":"string"},` +
		`"limit":{"type":"integer","x-mcp-header":"Limit"}},"required":["limit"]}`}}}
	d := start(t, overlaid(overlay.Entry{Backend: "one", Names: pattern.New("find"), Arguments: []overlay.Argument{{Name: "limit", Default: json.RawMessage(`20`)}}}), f)
	for _, c := range []struct {
		arguments, header string
		want              mcp.Kind
	}{
		{`{"query":"x"}`, "", 0}, {`{"limit":null}`, "", 0}, {`{"limit":20}`, "", mcp.KindHeaderMismatch}, {`{"limit":20}`, "20", 0}, {`{"limit":20}`, "7", mcp.KindHeaderMismatch},
	} {
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":`+c.arguments+`}`)
		if call.Header = (http.Header{}); c.header != "" {
			call.Header = http.Header{"Mcp-Param-Limit": {c.header}}
		}
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != c.want {
			t.Errorf("%s with the header %q: %v", c.arguments, c.header, err)
		}
	}
}
