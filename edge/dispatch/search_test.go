package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/quota"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// searched is a set with search that has everything and lists the tools of a selection.
func searched(o *overlay.Overlay, listed ...string) catalog.Options {
	return catalog.Options{Jitter: -1, Overlay: o, Sets: overlay.Sets{"s": {
		Name: "s", Search: true, Include: overlay.Selection{Backends: pattern.NewList([]string{"**"})}, Listed: overlay.Selection{Tools: pattern.NewList(listed)},
	}}}
}

// namesInSet returns the names in tools/list of the set s.
func namesInSet(t *testing.T, d *Dispatch, version string, who mcp.Principal) (names []string, raw string) {
	t.Helper()
	cursor := ""
	for {
		call := in(t, "s", mcp.MethodToolsList, `{`+cursor+`}`)
		call.Principal = who
		reply, err := d.Call(t.Context(), rules(t, version), call, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		if err := json.Unmarshal(reply.Result, &out); err != nil {
			t.Fatal(err)
		}
		for _, x := range out.Tools {
			names = append(names, x.Name)
		}
		raw += string(reply.Result)
		if out.NextCursor == "" {
			return names, raw
		}
		cursor = `"cursor":"` + out.NextCursor + `"`
	}
}

// found returns the names that find_tools of the set s finds, and the whole result.
func found(t *testing.T, d *Dispatch, version string, who mcp.Principal, arguments string) (names []string, raw string) {
	t.Helper()
	call := in(t, "s", mcp.MethodToolsCall, `{"name":"find_tools","arguments":`+arguments+`}`)
	call.Principal = who
	reply, err := d.Call(t.Context(), rules(t, version), call, nil)
	if err != nil || reply.ToolError {
		return nil, fmt.Sprint(string(reply.Result), err)
	}
	var out struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	var tools struct {
		Tools []struct {
			Name        string
			InputSchema json.RawMessage
		}
	}
	if err := json.Unmarshal(reply.Result, &out); err != nil || len(out.Content) < 1 || json.Unmarshal([]byte(out.Content[0].Text), &tools) != nil {
		t.Fatalf("%s: %v", reply.Result, err)
	}
	if advised := len(out.Content) > 1; advised != (len(tools.Tools) == 0) {
		t.Errorf("advice: %v in %s", advised, reply.Result)
	}
	for _, x := range tools.Tools {
		names = append(names, x.Name)
	}
	return names, string(reply.Result)
}

// through calls a tool of the set s through call_tool.
func through(t *testing.T, d *Dispatch, version string, who mcp.Principal, arguments string) (*mcp.Call, string, error) {
	t.Helper()
	call := in(t, "s", mcp.MethodToolsCall, `{"name":"call_tool","arguments":`+arguments+`}`)
	call.Principal = who
	if version == modern {
		var named struct{ Name string }
		_ = json.Unmarshal([]byte(arguments), &named)
		call.Header = http.Header{"Mcp-Param-Tool": {mcp.EncodeHeader(named.Name)}}
	}
	reply, err := d.Call(t.Context(), rules(t, version), call, nil)
	return call, string(reply.Result), err
}

// public is a backend with the 500 tools of public APIs that the tests of edge/catalog/search ask for.
func public(t *testing.T) *fake {
	t.Helper()
	raw, err := os.ReadFile("../catalog/search/testdata/apis.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name, Description string
		Arguments         map[string]string
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	f := &fake{name: "one", services: "t"}
	for _, x := range all {
		properties := map[string]any{}
		for name, text := range x.Arguments {
			properties[name] = map[string]any{"type": "string", "description": text}
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
		if err != nil {
			t.Fatal(err)
		}
		f.tools = append(f.tools, &pb.Tool{Name: x.Name, Description: x.Description, InputSchemaJson: string(schema)})
	}
	return f
}

// TestSearchOfPublicAPIs: of 500 tools the list shows two, in less than 600 tokens, and at least 54 of 60 questions find theirs among the
// first five, which can be called.
func TestSearchOfPublicAPIs(t *testing.T) {
	d := start(t, Options{Catalog: searched(nil)}, public(t))
	questions, err := os.ReadFile("../catalog/search/testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{legacy, modern} {
		names, list := namesInSet(t, d, version, mcp.Principal{})
		if strings.Join(names, " ") != "find_tools call_tool" || len(list)/4 >= 600 {
			t.Errorf("%s: the list has %v in %d tokens: %s", version, names, len(list)/4, list)
		}
		right := 0
		for line := range strings.Lines(string(questions)) {
			question, want, _ := strings.Cut(strings.TrimSpace(line), "\t")
			arguments, _ := json.Marshal(map[string]any{"query": question})
			if got, _ := found(t, d, version, mcp.Principal{}, string(arguments)); len(got) > 5 {
				t.Errorf("%s: %d found", question, len(got))
			} else if slices.Contains(got, want) {
				right++
			}
		}
		if right < 54 {
			t.Errorf("%s: %d questions find their tool", version, right)
		}
		if _, got, err := through(t, d, version, mcp.Principal{}, `{"name":"tts_list_voices","arguments":{"language_code":"de"}}`); err != nil || !strings.Contains(got, `called one/tts_list_voices {\"language_code\":\"de\"}`) {
			t.Errorf("%s: %s, %v", version, got, err)
		}
	}
}

// TestPreviewOfSearch: check says how many tools a set lists, in how many tokens, and which names and patterns have no effect.
func TestPreviewOfSearch(t *testing.T) {
	f := public(t)
	f.tools = append(f.tools, &pb.Tool{Name: "call_tool", InputSchemaJson: `{"type":"object"}`})
	_, pool := startPool(t, Options{}, f)
	set := searched(nil, "tts_list_*", "nix").Sets["s"]
	p := catalog.NewPreview(catalog.Options{})
	for _, b := range pool.Backends() {
		p.Of(b, b.Catalog())
	}
	s := p.Set(set)
	if s.Tools != 500 || s.Listed != 3 || s.Tokens < 100 || s.Tokens > 300 || s.String() != fmt.Sprintf("500 tools (3 listed, %d tokens)", s.Tokens) {
		t.Errorf("%+v: %s", s, s)
	}
	want := []string{
		`sets.s.listed.tools: no backend lists the tool "nix"`,
		`sets.s.search: the set does not have the tool "call_tool" of the backend "one", since "call_tool" is the edge's own there: give it another name in the catalog`,
	}
	if notes, _ := p.IdleInSet(set); !slices.Equal(notes, want) {
		t.Errorf("the notes are %q", notes)
	}
	bare := *set
	bare.Listed = overlay.Selection{}
	if s := p.Set(&bare); s.Listed != 2 || s.Tokens >= 200 {
		t.Errorf("the edge's own tools: %s", s)
	}
	whole := *set
	whole.Search = false
	if s := p.Set(&whole); s.Tools != 501 || s.Listed != 0 || s.String() != "501 tools" {
		t.Errorf("without search: %+v: %s", s, s)
	}
}

// kinds is a backend with a tool of each kind that search treats differently.
func kinds() *fake {
	object := `{"type":"object"}`
	return &fake{
		name: "one", prefix: "p_", services: "t", cache: &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC},
		tools: []*pb.Tool{
			{Name: "plain", Description: "Reads a thing.", InputSchemaJson: `{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`},
			{Name: "pinned", Description: "A thing in the list.", InputSchemaJson: object},
			{Name: "wipe", Description: "Wipes a thing.", InputSchemaJson: object, Annotations: &pb.ToolAnnotations{Destructive: proto.Bool(true)}},
			{Name: "paged", Description: "Shows a thing.", InputSchemaJson: object, MetaJson: `{"ui":{"resourceUri":"ui://x"}}`},
			{Name: "button", Description: "A thing for the page.", InputSchemaJson: object, MetaJson: `{"ui":{"visibility":["app"]}}`},
			{Name: "routed", Description: "A thing by region.", InputSchemaJson: `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`},
			{Name: "long", Description: "A thing as a task only.", InputSchemaJson: object, TaskSupport: &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_REQUIRED}},
			{Name: "maybe", Description: "A thing that may be a task.", InputSchemaJson: object, TaskSupport: &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_OPTIONAL}},
		},
	}
}

// TestListOfSearch: the list has what the set lists, and what must not be called through call_tool, which is refused there; hosts see
// that call_tool may destroy and become a task, and meshes which tool it calls.
func TestListOfSearch(t *testing.T) {
	for _, size := range []int{0, 1, 3} {
		o := searched(nil, "pinned")
		o.PageSize = size
		f := kinds()
		d := start(t, Options{Catalog: o}, f)
		for _, version := range []string{legacy, modern} {
			names, list := namesInSet(t, d, version, mcp.Principal{})
			if got := strings.Join(names, " "); got != "find_tools call_tool p_pinned p_wipe p_paged p_button p_routed p_long" {
				t.Errorf("%s, pages of %d: %s", version, size, got)
			}
			for _, part := range []string{`"x-mcp-header":"Tool"`, `"destructiveHint":true`, `"outputSchema":{`} {
				if !strings.Contains(list, part) {
					t.Errorf("%s: the list has no %s: %s", version, part, list)
				}
			}
			if asTask := strings.Contains(list, `"taskSupport":"optional"`); asTask != (version == legacy) {
				t.Errorf("%s: %s", version, list)
			}
			if version == modern && size == 0 && !strings.Contains(list, `"cacheScope":"public"`) {
				t.Errorf("the list is not public: %s", list)
			}
		}
	}
	f := kinds()
	d := start(t, Options{Catalog: searched(nil, "pinned")}, f)
	names, raw := found(t, d, modern, mcp.Principal{}, `{"query":"thing","limit":20}`)
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "p_long p_maybe p_paged p_pinned p_plain p_routed p_wipe" {
		t.Errorf("found %s", got)
	}
	if n := strings.Count(raw, `"direct":true`); n != 4 { // of the structured content; that of the text is escaped
		t.Errorf("%d must be called directly: %s", n, raw)
	}
	for _, name := range []string{"p_wipe", "p_paged", "p_button", "p_routed", "p_long"} {
		want := "by its own name"
		if name == "p_button" {
			want = "only its page"
		}
		if _, got, err := through(t, d, modern, mcp.Principal{}, `{"name":"`+name+`"}`); err != nil || !strings.Contains(got, `"isError":true`) || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if calls, _ := f.seen(); calls != 0 {
		t.Errorf("the backend was called %d times", calls)
	}
	for _, name := range []string{"p_plain", "p_pinned", "p_maybe"} {
		if _, got, err := through(t, d, modern, mcp.Principal{}, `{"name":"`+name+`","arguments":{}}`); err != nil || !strings.Contains(got, "called one/"+name[2:]) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// alike fails unless a call and one through call_tool, which has replaced the tool's backend as its own, are resolved to the same.
func alike(t *testing.T, one, two *mcp.Target, direct, wrapped *mcp.Call) {
	t.Helper()
	a, b := direct.Params, wrapped.Params
	b.Wrapped = nil
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\nthrough call_tool:\n%+v", a, b)
	}
	x, y := *one, *two
	x.Handle, y.Handle = nil, nil
	if !reflect.DeepEqual(x, y) || !y.Known || direct.Backend != wrapped.Backend {
		t.Errorf("%+v of %q\nthrough call_tool: %+v of %q", x, direct.Backend, y, wrapped.Backend)
	}
}

// TestCallToolIsTheInnerCall: what is resolved is the call of the tool, in every field; what does not exist is unknown as in a call of it,
// and arguments that name no tool are refused.
func TestCallToolIsTheInnerCall(t *testing.T) {
	f := kinds()
	o := overlay.New(overlay.Entries{Tools: []overlay.Entry{{Backend: "one", Names: pattern.New("plain"), Name: "nicer", Aliases: []string{"older"}}}})
	d := start(t, Options{Catalog: searched(o)}, f)
	for _, name := range []string{"nicer", "older"} {
		direct := in(t, "s", mcp.MethodToolsCall, `{"name":"`+name+`","arguments":{"n":1},"_meta":{"progressToken":7}}`)
		wrapped := in(t, "s", mcp.MethodToolsCall, `{"name":"call_tool","arguments":{"name":"`+name+`","arguments":{"n":1}},"_meta":{"progressToken":7}}`)
		wrapped.Header = http.Header{"Mcp-Param-Tool": {name}}
		one, err := d.Resolve(t.Context(), rules(t, modern), direct)
		two, err2 := d.Resolve(t.Context(), rules(t, modern), wrapped)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		alike(t, one, two, direct, wrapped)
		if _, name, arguments := wrapped.Bound(); name != "call_tool" || !strings.Contains(string(arguments), `"arguments":{"n":1}`) {
			t.Errorf("a state is bound to %s %s", name, arguments)
		}
	}
	for _, version := range []string{legacy, modern} {
		for _, name := range []string{"p_plain", "nix", "call_tool", "find_tools", ""} {
			_, _, got := through(t, d, version, mcp.Principal{}, `{"name":"`+name+`"}`)
			_, want := d.Call(t.Context(), rules(t, version), in(t, "s", mcp.MethodToolsCall, `{"name":"nix"}`), nil)
			if want == nil || got == nil || !strings.Contains(want.Error(), "find_tools finds those that exist") || strings.ReplaceAll(want.Error(), `"nix"`, fmt.Sprintf("%q", name)) != got.Error() {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		for _, arguments := range []string{
			`{}`, `{"name":7}`, `{"name":null}`, `{"name":"nicer","arguments":[]}`, `{"name":"nicer","arguments":"{}"}`, `{"name":"nicer","n":1}`,
			`{"Name":"nicer"}`, `{"name":"nicer","Arguments":{}}`, `{"name":"nicer","arguments":{"n":"x"}}`, `{"name":"` + strings.Repeat("x", 2000) + `"}`, `null`,
		} {
			if _, got, err := through(t, d, version, mcp.Principal{}, arguments); !strings.Contains(got, `"isError":true`) && kindOf(t, err) != mcp.KindInvalidParams {
				t.Errorf("%s: %.60s: %s, %v", version, arguments, got, err)
			}
		}
		for _, arguments := range []string{`[]`, `{"name":"nicer","name":"p_wipe"}`, `{"name":"nicer","arguments":{},"arguments":{"n":2}}`, `{"name":"nicer","arguments":{"n":1,"n":2}}`} {
			if _, got, err := through(t, d, version, mcp.Principal{}, arguments); kindOf(t, err) != mcp.KindInvalidParams {
				t.Errorf("%s: %s: %s, %v", version, arguments, got, err)
			}
		}
	}
	if calls, _ := f.seen(); calls != 0 {
		t.Errorf("the backend was called %d times", calls)
	}
	for _, header := range []http.Header{{}, {"Mcp-Param-Tool": {"older"}}, {"Mcp-Param-Tool": {"nicer", "nicer"}}, {"Mcp-Param-Tool": {"call_tool"}}} {
		call := in(t, "s", mcp.MethodToolsCall, `{"name":"call_tool","arguments":{"name":"nicer"}}`)
		call.Header = header
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindHeaderMismatch {
			t.Errorf("%v: %v", header, err)
		}
	}
	// Elsewhere there are no such tools.
	for _, name := range []string{"call_tool", "find_tools"} {
		call := request(t, mcp.MethodToolsCall, `{"name":"`+name+`","arguments":{"name":"nicer","query":"thing"}}`)
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindUnknownTool {
			t.Errorf("%s at the root: %v", name, err)
		}
	}
}

// TestListedOnlyThroughCallTool: a tool that is listed and may not be called through call_tool is refused in the form of arguments that do not
// fit, without blaming them.
func TestListedOnlyThroughCallTool(t *testing.T) {
	d := start(t, Options{Catalog: searched(nil, "pinned")}, kinds())
	const text = `the tool \"p_wipe\" is listed: call it by its own name, not with call_tool`
	for _, version := range []string{legacy, modern} {
		if _, got, err := through(t, d, version, mcp.Principal{}, `{"name":"p_wipe"}`); err != nil || !strings.Contains(got, `"text":"`+text+`"}],"isError":true`) {
			t.Errorf("%s: %s, %v", version, got, err)
		}
	}
	_, got, err := through(t, d, "2025-06-18", mcp.Principal{}, `{"name":"p_wipe"}`)
	if kindOf(t, err) != mcp.KindInvalidParams || err.Error() != strings.ReplaceAll(text, `\`, "") {
		t.Errorf("2025-06-18: %s, %v", got, err)
	}
}

// TestDisabledSearch: a disabled set with search lists nothing and refuses the edge's own tools, whatever their arguments and headers; a
// disabled tool is not found, and is refused through call_tool as directly.
func TestDisabledSearch(t *testing.T) {
	f := kinds()
	d := start(t, Options{Catalog: searched(nil, "pinned")}, f)
	refused := func(name, arguments, text string) {
		t.Helper()
		for _, version := range []string{legacy, modern} {
			for _, header := range []http.Header{{"Mcp-Param-Tool": {"p_plain"}}, {}, {"Mcp-Param-Tool": {"other"}}} {
				call := in(t, "s", mcp.MethodToolsCall, `{"name":"`+name+`","arguments":`+arguments+`}`)
				call.Header = header
				reply, err := d.Call(t.Context(), rules(t, version), call, nil)
				if kindOf(t, err) != mcp.KindForbidden || !strings.Contains(err.Error(), text+" is disabled by the operator") {
					t.Errorf("%s: %s %s with the header %v: %s, %v", version, name, arguments, header, reply.Result, err)
				}
			}
		}
	}
	d.Catalog().Disable(off("set:s"))
	for _, version := range []string{legacy, modern} {
		if names, list := namesInSet(t, d, version, mcp.Principal{}); len(names) > 0 {
			t.Errorf("%s: the set lists %s", version, list)
		}
	}
	refused("find_tools", `{"query":"thing"}`, "this endpoint")
	refused("find_tools", `{}`, "this endpoint")
	refused("call_tool", `{"name":"p_plain"}`, "this endpoint")
	refused("call_tool", `{"nome":"p_plain"}`, "this endpoint")
	refused("call_tool", `{"name":"unknown"}`, "this endpoint")
	refused("call_tool", `{"name":"p_plain","name":"p_plain"}`, "this endpoint")
	d.Catalog().Disable(off("tool:one/plain", "tool:one/wipe"))
	names, _ := found(t, d, modern, mcp.Principal{}, `{"query":"thing","limit":20}`)
	if len(names) == 0 || slices.Contains(names, "p_plain") || slices.Contains(names, "p_wipe") {
		t.Errorf("found %v", names)
	}
	refused("call_tool", `{"name":"p_plain"}`, `the tool "p_plain"`)
	d.Catalog().Disable(off("backend:one"))
	if names, raw := found(t, d, modern, mcp.Principal{}, `{"query":"thing"}`); len(names) > 0 || !strings.Contains(raw, `{"tools":[]}`) {
		t.Errorf("found %v: %s", names, raw)
	}
	refused("call_tool", `{"name":"p_plain"}`, `the tool "p_plain"`)
	d.Catalog().Disable(nil)
	if names, _ := found(t, d, modern, mcp.Principal{}, `{"query":"thing"}`); len(names) == 0 {
		t.Error("enabled again it finds nothing")
	}
	if calls, _ := f.seen(); calls != 0 {
		t.Errorf("the backend was called %d times", calls)
	}
}

// TestQuotasOfSearch: find_tools spends the quotas of a tool of its name, and arguments that are refused spend none.
func TestQuotasOfSearch(t *testing.T) {
	for _, r := range []quota.Rule{
		{Name: "all", Per: quota.PerPrincipal}, {Name: "finding", Per: quota.PerTool, Tools: pattern.NewList([]string{"find_tools"})}, {Name: "set", Per: quota.PerSet, Sets: pattern.NewList([]string{"s"})},
	} {
		r.Budget = quota.Budget{Interval: time.Hour, Burst: 2}
		c := access.New(access.Options{Quotas: quota.New(quota.Options{Rules: []quota.Rule{r}})})
		d := start(t, Options{Catalog: searched(nil), Access: by(c)}, kinds())
		for range 2 {
			found(t, d, modern, mcp.Principal{}, `{"query":""}`)
			if names, raw := found(t, d, modern, mcp.Principal{}, `{"query":"thing"}`); len(names) == 0 {
				t.Errorf("%s: %s", r.Name, raw)
			}
		}
		_, err := d.Call(t.Context(), rules(t, modern), in(t, "s", mcp.MethodToolsCall, `{"name":"find_tools","arguments":{"query":"thing"}}`), nil)
		if kindOf(t, err) != mcp.KindLimit || !strings.Contains(err.Error(), r.Name) {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}

// TestSearchesAtOnce: searches beyond the places wait for one, no longer than their request, and then are refused.
func TestSearchesAtOnce(t *testing.T) {
	d := start(t, Options{Catalog: searched(nil)}, kinds())
	d.searchWait = time.Millisecond
	for range cap(d.searches) {
		d.searches <- struct{}{}
	}
	ask := func(ctx context.Context) error {
		_, err := d.Call(ctx, rules(t, modern), in(t, "s", mcp.MethodToolsCall, `{"name":"find_tools","arguments":{"query":"thing"}}`), nil)
		return err
	}
	if err := ask(t.Context()); kindOf(t, err) != mcp.KindLimit {
		t.Errorf("without a place: %v", err)
	}
	d.searchWait = time.Hour
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ended); kindOf(t, err) != mcp.KindCancelled {
		t.Errorf("after its end: %v", err)
	}
	<-d.searches
	if err := ask(t.Context()); err != nil {
		t.Errorf("with a place: %v", err)
	}
	if n := len(d.searches); n != cap(d.searches)-1 {
		t.Errorf("%d places are taken", n)
	}
}

// TestSearchSwitchedOff: a call through call_tool that is resolved where search is off by then is refused, and one that has begun continues.
func TestSearchSwitchedOff(t *testing.T) {
	f := kinds()
	d := start(t, Options{Catalog: searched(nil)}, f)
	wrapped := func(name string) *mcp.Call {
		call := in(t, "s", mcp.MethodToolsCall, `{"name":"call_tool","arguments":{"name":"`+name+`"}}`)
		if err := call.Unwrap(); err != nil {
			t.Fatal(err)
		}
		return call
	}
	whole := *searched(nil).Sets["s"]
	whole.Search = false
	d.Catalog().Replace(nil, overlay.Sets{"s": &whole}, func() {}, false)
	for _, name := range []string{"p_wipe", "p_plain"} {
		if _, err := d.Call(t.Context(), rules(t, legacy), wrapped(name), nil); kindOf(t, err) != mcp.KindUnavailable || !strings.Contains(err.Error(), "settings") {
			t.Errorf("%s: %v", name, err)
		}
	}
	later := wrapped("p_plain")
	later.Backend, later.Begun, later.Round = "one", true, 2
	if reply, err := d.Call(t.Context(), rules(t, legacy), later, nil); err != nil || !strings.Contains(string(reply.Result), "called one/plain") {
		t.Errorf("a later round: %s, %v", reply.Result, err)
	}
	if calls, _ := f.seen(); calls != 1 {
		t.Errorf("the backend was called %d times", calls)
	}
}

// TestMisuseInTasks: what is wrong with the arguments of call_tool is known before a task would be made.
func TestMisuseInTasks(t *testing.T) {
	d := start(t, Options{Catalog: searched(nil)}, kinds())
	for arguments, text := range map[string]string{`{"nome":"p_plain"}`: "does not take", `{"name":"p_long"}`: "by its own name", `{"name":"p_button"}`: "only its page"} {
		call := in(t, "s", mcp.MethodToolsCall, `{"name":"call_tool","arguments":`+arguments+`}`)
		target, err := d.Resolve(t.Context(), rules(t, legacy), call)
		if err != nil || target.Misused == nil || !strings.Contains(target.Misused.Error(), text) || !target.Repeatable {
			t.Errorf("%s: %+v, %v", arguments, target, err)
		}
	}
	call := in(t, "s", mcp.MethodToolsCall, `{"name":"find_tools","arguments":{"query":"x"}}`)
	if target, err := d.Resolve(t.Context(), rules(t, legacy), call); err != nil || !target.Repeatable || target.Misused != nil {
		t.Errorf("find_tools: %+v, %v", target, err)
	}
}

// TestFirstSearches: searches that are the first ones of a view at the same time find the same.
func TestFirstSearches(t *testing.T) {
	d := start(t, Options{Catalog: searched(nil)}, kinds())
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			reply, err := d.Call(t.Context(), rules(t, modern), in(t, "s", mcp.MethodToolsCall, `{"name":"find_tools","arguments":{"query":"plain"}}`), nil)
			if err != nil || !strings.Contains(string(reply.Result), `"name":"p_plain"`) {
				t.Errorf("%s, %v", reply.Result, err)
			}
		})
	}
	wait.Wait()
}

// TestIncompleteSearch: a search while a backend is missing says so.
func TestIncompleteSearch(t *testing.T) {
	d := start(t, Options{Catalog: searched(nil)}, kinds(), &fake{
		name: "two", services: "t", tools: tools(0, 1), refuseList: map[string]error{"alice": status.Error(codes.Unavailable, "gone")},
		cache: &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE},
	})
	if _, raw := found(t, d, modern, mcp.Principal{Issuer: "https://id", Subject: "bob"}, `{"query":"thing"}`); strings.Contains(raw, "incomplete") {
		t.Errorf("with all: %s", raw)
	}
	alice := mcp.Principal{Issuer: "https://id", Subject: "alice"}
	names, raw := found(t, d, modern, alice, `{"query":"thing"}`)
	if len(names) == 0 || !strings.Contains(raw, `"incomplete":true`) {
		t.Errorf("found %v: %s", names, raw)
	}
	if _, raw := found(t, d, modern, alice, `{"query":"zebra"}`); !strings.Contains(raw, `"incomplete":true`) {
		t.Errorf("nothing: %s", raw)
	}
}

// TestPinsThroughCallTool: no spelling of a pinned argument passes through call_tool, wherever it is, and the backend gets its value.
func TestPinsThroughCallTool(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: findSchema}}}
	d := start(t, Options{Catalog: searched(overlay.New(overlay.Entries{Tools: []overlay.Entry{pinnedTenant(t)}}))}, f)
	who := callerOf(`"acme"`)
	for _, name := range []string{
		`tenantId`, `tenantid`, `TENANTID`, `TenantId`, `tenant_id`, `tenant-id`, `TENANT_ID`, `_tenantId`, `tenantId_`, `t_e_n_a_n_t_i_d`, `tenant.id`, `tenant id`,
		`tenantıd`, `TENANTİD`, `tenant\u0131d`, `\u0074enantId`, `tenant\u0049d`, `tenant\u005fid`, `tenantId[0]`, `tenantId.x`, `verbose`, `Verbose`, `verboſe`, `ver_bose`,
	} {
		for _, value := range []string{`"other"`, `"acme"`, `null`, `true`, `{"a":1}`} {
			for i, arguments := range []string{
				`{"name":"find","arguments":{"query":"x","` + name + `":` + value + `}}`, `{"arguments":{"` + name + `":` + value + `,"query":"x"},"name":"find"}`,
				`{"name":"find","arguments":{"query":"x"},"` + name + `":` + value + `}`, `{"name":"call_tool","arguments":{"name":"find","arguments":{"` + name + `":` + value + `}}}`,
			} {
				for _, version := range []string{legacy, modern} {
					_, got, err := through(t, d, version, who, arguments)
					if err == nil && !strings.Contains(got, `"isError":true`) || i < 2 && !strings.Contains(got+fmt.Sprint(err), "not accepted") {
						t.Errorf("%s: %s: %s, %v", version, arguments, got, err)
					}
				}
			}
		}
	}
	if calls, _ := f.seen(); calls != 0 {
		t.Fatalf("the backend was called %d times", calls)
	}
	direct := in(t, "s", mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x"},"task":{"ttl":7},"_meta":{"progressToken":7}}`)
	wrapped := in(t, "s", mcp.MethodToolsCall, `{"name":"call_tool","arguments":{"name":"find","arguments":{"query":"x"}},"task":{"ttl":7},"_meta":{"progressToken":7}}`)
	direct.Principal, wrapped.Principal = who, who
	one, err := d.Resolve(t.Context(), rules(t, legacy), direct)
	two, err2 := d.Resolve(t.Context(), rules(t, legacy), wrapped)
	if err != nil || err2 != nil || string(wrapped.Params.Sent.Arguments) != `{"query":"x"}` || wrapped.Params.Added() == nil {
		t.Fatalf("%v, %v, sent %s", err, err2, wrapped.Params.Sent.Arguments)
	}
	alike(t, one, two, direct, wrapped)
	if _, got, err := through(t, d, modern, who, `{"name":"find","arguments":{"query":"x"}}`); err != nil || !strings.Contains(got, `\"tenantId\":\"acme\",\"verbose\":false`) {
		t.Errorf("%s, %v", got, err)
	}
	if _, raw := found(t, d, modern, who, `{"query":"find"}`); strings.Contains(raw, "enant") || strings.Contains(raw, "erbose") {
		t.Errorf("the pinned arguments are found: %s", raw)
	}
}

// TestSearchUnderPolicy: a caller finds what its list would have, calls what it may, and the rules see the tool itself with its arguments.
func TestSearchUnderPolicy(t *testing.T) {
	f := kinds()
	d := start(t, Options{Catalog: searched(nil), Access: decider(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{
		{Name: "hidden", Then: policy.Hide, When: `tool.name == "p_maybe" && principal.subject != "alice"`},
		{Name: "small", Then: policy.Deny, When: `tool.name == "p_plain" && has(arguments.n) && arguments.n > 5`},
		{Name: "never", Then: policy.Deny, When: `tool.name == "call_tool"`},
	}})}, f)
	alice, bob := mcp.Principal{Issuer: "https://id", Subject: "alice"}, mcp.Principal{Issuer: "https://id", Subject: "bob"}
	for _, version := range []string{legacy, modern} {
		for _, x := range []struct {
			who  mcp.Principal
			sees bool
		}{{alice, true}, {bob, false}} {
			names, _ := found(t, d, version, x.who, `{"query":"task","limit":20}`)
			_, _, err := through(t, d, version, x.who, `{"name":"p_maybe"}`)
			if slices.Contains(names, "p_maybe") != x.sees || (err == nil) != x.sees || err != nil && kindOf(t, err) != mcp.KindUnknownTool {
				t.Errorf("%s: %s finds %v, and calls with %v", version, x.who.Subject, names, err)
			}
		}
		if _, _, err := through(t, d, version, bob, `{"name":"p_plain","arguments":{"n":7}}`); kindOf(t, err) != mcp.KindForbidden {
			t.Errorf("%s: %v", version, err)
		}
		if _, got, err := through(t, d, version, bob, `{"name":"p_plain","arguments":{"n":3}}`); err != nil {
			t.Errorf("%s: %s, %v", version, got, err)
		}
	}
}

// TestBoundsOfSearch: queries and results are bounded, and wrong arguments are errors for the model.
func TestBoundsOfSearch(t *testing.T) {
	large := `{"type":"object","description":"` + strings.Repeat("x", 30<<10) + `"}`
	f := &fake{name: "one", services: "t"}
	for i := range 30 {
		f.tools = append(f.tools, &pb.Tool{Name: fmt.Sprint("tool_", i), Description: strings.Repeat("long ", 5000), InputSchemaJson: large})
	}
	d := start(t, Options{Catalog: searched(nil)}, f)
	names, raw := found(t, d, modern, mcp.Principal{}, `{"query":"tool","limit":20}`)
	if len(names) < 5 || len(raw) > 4*64<<10 || !strings.Contains(raw, `"inputSchema"`) {
		t.Errorf("%d tools in %d bytes", len(names), len(raw))
	}
	for _, limit := range []string{"null", "5.0", "5e0", "50e-1"} {
		if names, raw := found(t, d, modern, mcp.Principal{}, `{"query":"tool","limit":`+limit+`}`); len(names) != 5 {
			t.Errorf("limit %s: %v %.200s", limit, names, raw)
		}
	}
	if names, raw := found(t, d, modern, mcp.Principal{}, `{"query":"tool `+strings.Repeat("ü", 995)+`"}`); len(names) != 5 {
		t.Errorf("1,000 characters of two bytes: %v %.200s", names, raw)
	}
	if names, raw := found(t, d, modern, mcp.Principal{}, `{"query":"zebra"}`); len(names) != 0 || !strings.Contains(raw, `{"tools":[]}`) ||
		!strings.Contains(raw, `{"type":"text","text":"No tool was found: search again with other words, or with fewer.`) {
		t.Errorf("nothing: %s", raw)
	}
	for _, arguments := range []string{
		`{}`, `{"query":""}`, `{"query":7}`, `{"query":null}`, `{"query":"x","limit":0}`, `{"query":"x","limit":21}`, `{"query":"x","limit":1.5}`, `{"query":"x","limit":"3"}`,
		`{"query":"x","more":1}`, `{"query":"` + strings.Repeat("x", 1001) + `"}`, `{"query":"x","limit":5.5e0}`, `{"query":"x","limit":1e99}`,
	} {
		for _, version := range []string{legacy, modern} {
			if names, raw := found(t, d, version, mcp.Principal{}, arguments); names != nil || !strings.Contains(raw, "isError") && !strings.Contains(raw, "invalid") && !strings.Contains(raw, "quer") {
				t.Errorf("%s: %.60s: %v %s", version, arguments, names, raw)
			}
		}
	}
}

// TestChangesOfSearch: a tool that is not listed comes without a notification and is found at once; one that is listed, and the first that
// may become a task, change the list.
func TestChangesOfSearch(t *testing.T) {
	f := &fake{name: "one", services: "t", tools: []*pb.Tool{{Name: "first", InputSchemaJson: `{"type":"object"}`}}}
	d := start(t, Options{Catalog: searched(nil, "listed")}, f)
	feed, err := d.Changes(t.Context(), "s", mcp.Principal{}, mcp.Filter{Tools: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(feed.Close)
	if names, _ := found(t, d, modern, mcp.Principal{}, `{"query":"second"}`); len(names) != 0 {
		t.Errorf("found %v", names)
	}
	f.change(func() {
		f.tools = append(slices.Clone(f.tools), &pb.Tool{Name: "second", InputSchemaJson: `{"type":"object"}`})
	})
	await.Until(t, "the new tool to be found", func() bool {
		names, _ := found(t, d, modern, mcp.Principal{}, `{"query":"second"}`)
		return slices.Equal(names, []string{"second"})
	})
	silent(t, feed)
	f.change(func() {
		f.tools = append(slices.Clone(f.tools), &pb.Tool{Name: "listed", InputSchemaJson: `{"type":"object"}`})
	})
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ToolsChanged}}) {
		t.Errorf("got %v", got)
	}
	if names, _ := namesInSet(t, d, modern, mcp.Principal{}); !slices.Equal(names, []string{"find_tools", "call_tool", "listed"}) {
		t.Errorf("the list is %v", names)
	}
}

// TestNamesOfSearch: in a set with search the names of the edge's tools are its own, also as aliases; a tool of a backend with such a name
// is not in the set, stays at the root, and is reported.
func TestNamesOfSearch(t *testing.T) {
	f := &fake{name: "one", services: "t", tools: []*pb.Tool{
		{Name: "call_tool", Description: "A thing.", InputSchemaJson: `{"type":"object"}`, Annotations: &pb.ToolAnnotations{Destructive: proto.Bool(true)}},
		{Name: "find_tools", InputSchemaJson: `{"type":"object"}`}, {Name: "other", InputSchemaJson: `{"type":"object"}`},
	}}
	o := overlay.New(overlay.Entries{Tools: []overlay.Entry{{Backend: "one", Names: pattern.New("call_tool"), Aliases: []string{"sly"}}}})
	log := &lockedBuffer{}
	d := start(t, Options{Catalog: searched(o), Logger: slog.New(slog.NewTextHandler(log, nil))}, f)
	if names, _ := namesInSet(t, d, modern, mcp.Principal{}); !slices.Equal(names, []string{"find_tools", "call_tool"}) {
		t.Errorf("the list is %v", names)
	}
	for _, name := range []string{"call_tool", "find_tools", "sly"} {
		if _, _, err := through(t, d, modern, mcp.Principal{}, `{"name":"`+name+`"}`); kindOf(t, err) != mcp.KindUnknownTool {
			t.Errorf("%s: %v", name, err)
		}
	}
	if reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"call_tool"}`), nil); err != nil || !strings.Contains(string(reply.Result), "called one/call_tool") {
		t.Errorf("at the root: %s, %v", reply.Result, err)
	}
	if !strings.Contains(log.String(), "one of the edge's own in a set") {
		t.Errorf("logged: %s", log)
	}
}

// TestSearchOfPrivateLists: a caller finds and calls what its backend lists for it alone.
func TestSearchOfPrivateLists(t *testing.T) {
	tool := func(name string) []*pb.Tool { return []*pb.Tool{{Name: name, InputSchemaJson: `{"type":"object"}`}} }
	f := &fake{name: "one", services: "t", cache: &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE}, tools: tool("shared"), own: map[string][]*pb.Tool{"alice": tool("hers"), "bob": tool("his")}}
	d := start(t, Options{Catalog: searched(nil)}, f)
	for subject, own := range map[string]string{"alice": "hers", "bob": "his"} {
		who := mcp.Principal{Issuer: "https://id", Subject: subject}
		if names, raw := found(t, d, modern, who, `{"query":"hers his shared"}`); !slices.Equal(names, []string{own}) {
			t.Errorf("%s finds %v: %s", subject, names, raw)
		}
		for _, name := range []string{"hers", "his"} {
			if _, _, err := through(t, d, modern, who, `{"name":"`+name+`"}`); (err == nil) != (name == own) {
				t.Errorf("%s calls %s: %v", subject, name, err)
			}
		}
	}
}
