package dispatch

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func overlaid(entries ...overlay.Entry) Options {
	return Options{Catalog: catalog.Options{Overlay: overlay.New(overlay.Entries{Tools: entries, Prompts: entries})}}
}

// A hidden name is free: the next backend that lists it owns it, also while the backend of the
// hidden one is away.
func TestHiddenNamesAreFree(t *testing.T) {
	hidden := []overlay.Entry{{Backend: "one", Names: pattern.New("find"), Hide: true}}
	o := overlay.New(overlay.Entries{Tools: hidden, Prompts: hidden})
	one := func() *fake {
		return &fake{name: "one", tools: []*pb.Tool{{Name: "find"}, {Name: "keep"}}, prompts: []*pb.Prompt{{Name: "find"}}}
	}
	two := func() *fake {
		return &fake{name: "two", tools: []*pb.Tool{{Name: "find"}}, prompts: []*pb.Prompt{{Name: "find"}}}
	}
	store := &memoryStore{}
	knew := ownership.New(ownership.Options{Store: store})
	startPlaced(t, knew, placed{fake: one()}, placed{fake: two()}) // without the overlay, find is owned by the first backend
	if err := knew.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, away := range map[string]bool{"there": false, "away": true} {
		late := ownership.New(ownership.Options{Store: store})
		d := startPlacedWith(t, catalog.Options{Names: late, Overlay: o}, placed{fake: one(), away: away}, placed{fake: two()})
		if err := errors.Join(late.Load(t.Context()), d.Catalog().Settle(t.Context())); err != nil {
			t.Fatal(err)
		}
		for method, want := range map[mcp.Method]string{mcp.MethodToolsCall: "called two/find", mcp.MethodPromptsGet: "got from two/find"} {
			reply, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{"name":"find"}`), nil)
			if err != nil || !strings.Contains(string(reply.Result), want) {
				t.Errorf("%s: %s: %s, %v; want %s", name, method, reply.Result, err, want)
			}
		}
		_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"keep"}`), nil)
		if unavailable := err != nil && kindOf(t, err) == mcp.KindUnavailable; unavailable != away {
			t.Errorf("%s: a tool that is not hidden: %v", name, err)
		}
	}
}

// A running call does not continue with a tool that has been hidden since.
func TestHiddenToolEndsItsCalls(t *testing.T) {
	d := start(t, overlaid(overlay.Entry{Backend: "one", Names: pattern.New("find"), Hide: true}), &fake{name: "one", tools: []*pb.Tool{{Name: "find"}, {Name: "keep"}}})
	call := request(t, mcp.MethodToolsCall, `{"name":"find"}`)
	call.Backend = "one"
	if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindUnknownTool {
		t.Errorf("the next round of a call of a hidden tool: %v", err)
	}
}

// A change of the overlay of tools does not change the list of prompts.
func TestOverlayChangesItsOwnLists(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find"}}, prompts: []*pb.Prompt{{Name: "ask"}}}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}}, f)
	before := d.catalog.Shared().Digest()
	hide := []overlay.Entry{{Backend: "one", Names: pattern.New("find"), Hide: true}}
	nothing := func() {}
	d.Catalog().Replace(overlay.New(overlay.Entries{Tools: hide}), nil, nothing, false)
	view := d.catalog.Shared()
	after := view.Digest()
	if after.Tools == before.Tools || after.Prompts != before.Prompts || after.Resources != before.Resources {
		t.Errorf("the digests are %+v after %+v", after, before)
	}
	if d.Catalog().Replace(overlay.New(overlay.Entries{Tools: hide}), nil, nothing, false); d.catalog.Shared() != view {
		t.Error("an equal overlay changes something")
	}
	// An entry that matches nothing changes no list.
	idle := append(hide, overlay.Entry{Backend: "one", Names: pattern.New("nix"), Title: "Nix"})
	d.Catalog().Replace(overlay.New(overlay.Entries{Tools: idle}), nil, nothing, false)
	if now := d.catalog.Shared().Digest(); now != after {
		t.Errorf("the digests are %+v after an entry that matches nothing, %+v before", now, after)
	}
}

// The job of a call is cancelled even if its tool has been hidden since.
func TestHiddenToolIsCancelled(t *testing.T) {
	f := &fake{name: "one", prefix: "a_", tools: []*pb.Tool{{Name: "find"}}, cancelled: make(chan string, 1)}
	d := start(t, overlaid(overlay.Entry{Backend: "one", Names: pattern.New("find"), Hide: true}), f)
	call := request(t, mcp.MethodToolsCall, `{"name":"a_find"}`)
	call.Backend, call.State = "one", []byte("job 7")
	if err := d.CancelCall(t.Context(), rules(t, modern), call); err != nil {
		t.Fatal(err)
	}
	if got := await.Receive(t, "the cancellation", f.cancelled); got != "find" {
		t.Errorf("cancelled is %q, want find", got)
	}
}

// The policy uses the stricter of the backend's and the overlay's annotations. A lost call is run
// again only if both permit it.
func TestStricterAnnotationsDecide(t *testing.T) {
	yes, no := true, false
	type hints = policy.Hints
	plain := hints{Destructive: true, OpenWorld: true}
	for name, c := range map[string]struct {
		backend    *pb.ToolAnnotations
		overlay    overlay.Annotations
		want       hints
		repeatable bool
	}{
		"none":                {nil, overlay.Annotations{}, plain, false},
		"loosened":            {nil, overlay.Annotations{ReadOnly: &yes, Destructive: &no, Idempotent: &yes, OpenWorld: &no}, plain, false},
		"kept":                {&pb.ToolAnnotations{ReadOnly: &yes, OpenWorld: &no}, overlay.Annotations{}, hints{ReadOnly: true}, true},
		"tightened":           {&pb.ToolAnnotations{ReadOnly: &yes, OpenWorld: &no}, overlay.Annotations{ReadOnly: &no}, hints{Destructive: true}, false},
		"destructive, though": {&pb.ToolAnnotations{ReadOnly: &yes}, overlay.Annotations{Destructive: &yes}, hints{ReadOnly: true, Destructive: true, OpenWorld: true}, true},
		"repeated no more":    {&pb.ToolAnnotations{Idempotent: &yes}, overlay.Annotations{Idempotent: &no}, plain, false},
	} {
		entry := overlay.Entry{Backend: "one", Names: pattern.New("*"), Annotations: c.overlay}
		d := start(t, overlaid(entry), &fake{name: "one", tools: []*pb.Tool{{Name: "act", Annotations: c.backend}}})
		tool := d.catalog.Shared().Tools.ByName["act"]
		if tool.Target.Hints != c.want || tool.Repeatable() != c.repeatable {
			t.Errorf("%s: %+v, repeatable %t; want %+v, %t", name, tool.Target.Hints, tool.Repeatable(), c.want, c.repeatable)
		}
	}
}

// A request about a task of a tool in a caller's own list is decided by the annotations of the catalog
// in force, also before the list is read again.
func TestTasksOfOwnToolsAreDecidedByTheCatalogInForce(t *testing.T) {
	yes, no := true, false
	f := &fake{name: "one", cache: &pb.CacheHint{Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE}, own: map[string][]*pb.Tool{
		"ann": {{Name: "act", Annotations: &pb.ToolAnnotations{ReadOnly: &yes}}}, "": {}}}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}, Access: decider(t, policy.Settings{Default: policy.Deny, Rules: []policy.Rule{
		{Name: "reads", When: `tool.annotations.read_only`, Then: policy.Allow}}})}, f)
	ann := mcp.Principal{Issuer: "i", Subject: "ann"}
	if p, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, ann); err != nil || !slices.Equal(p.names(), []string{"act"}) {
		t.Fatalf("listed %q, %v", p.names(), err)
	}
	permitted := func() error {
		call := request(t, mcp.MethodToolsCall, `{"name":"act"}`)
		call.Principal = ann
		_, err := d.PermitTask(t.Context(), rules(t, modern), call, &mcp.TaskCall{Backend: "one", Tool: "act"})
		return err
	}
	if err := permitted(); err != nil {
		t.Error(err)
	}
	tightened := overlay.New(overlay.Entries{Tools: []overlay.Entry{{Backend: "one", Names: pattern.New("act"), Annotations: overlay.Annotations{ReadOnly: &no}}}})
	d.Catalog().Replace(tightened, nil, func() {}, false)
	if err := permitted(); kindOf(t, err) != mcp.KindForbidden {
		t.Errorf("with stricter annotations: %v", err)
	}
	d.Catalog().Replace(nil, nil, func() {}, false)
	if err := permitted(); err != nil {
		t.Errorf("with the annotations of the backend again: %v", err)
	}
}

// Texts that mention hidden or renamed names are noted, as clients see them.
func TestOldNamesInTexts(t *testing.T) {
	f := &fake{name: "one", prefix: "a_", describe: &pb.DescribeResponse{Instructions: "Call a_find_user before delete_user; keep_it is fine."},
		tools: []*pb.Tool{
			{Name: "find_user", Description: "Finds. See delete_user."}, {Name: "delete_user", Description: "See find_user.", MetaJson: `{"ui":{"resourceUri":"ui://gone/page"}}`},
			{Name: "keep_it", Description: "As find_user.", MetaJson: `{"ui":{"resourceUri":"ui://keep/page"}}`}, {Name: "act", Description: "Acts like delete_user."}},
		prompts: []*pb.Prompt{{Name: "ask", Description: "Uses `find_user`."}}}
	o := overlay.New(overlay.Entries{Tools: []overlay.Entry{
		{Place: "tools[0]", Backend: "one", Names: pattern.New("find_user"), Name: "search"},
		{Place: "tools[1]", Backend: "one", Names: pattern.New("delete_user"), Hide: true},
		{Backend: "one", Names: pattern.New("act"), Description: "Acts."},
	}})
	other := &fake{name: "two", tools: []*pb.Tool{{Name: "help", Description: "Before a_find_user, not find_user."}}}
	_, pool := startPool(t, Options{}, f, other)
	p := catalog.NewPreview(catalog.Options{Overlay: o})
	for _, b := range pool.Backends() {
		p.Of(b, b.Catalog())
		if got, want := p.Documents(b, b.Catalog()), []string{"ui://keep/page"}; b.Name() == "one" && !slices.Equal(got, want) {
			t.Errorf("the documents are %q, want %q", got, want)
		}
		p.AddDocument(b, "ui://keep/page", `call("a_delete_user")`)
		p.AddDocument(b, "skill://x/SKILL.md", "Nothing.")
	}
	got := p.Mentions()
	want := []string{
		"tools[0]: old names in the instructions of the backend one: a_find_user, which is search now",
		"tools[1]: old names in the instructions of the backend one: delete_user, which is hidden",
		"tools[1]: old names in the description of the tool find_user of the backend one: delete_user, which is hidden",
		"tools[0]: old names in the description of the tool keep_it of the backend one: find_user, which is search now",
		"tools[0]: old names in the description of the prompt ask of the backend one: find_user, which is search now",
		"tools[1]: old names in the page ui://keep/page of the backend one: a_delete_user, which is hidden",
		"tools[0]: old names in the description of the tool help of the backend two: a_find_user, which is search now",
		"tools[1]: old names in the page ui://keep/page of the backend two: a_delete_user, which is hidden",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the notes are %s", strings.Join(got, "\n"))
	}
}

// A result beyond max-result is shortened, after it was checked by its schema.
func TestLongResultsAreShortened(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "read", InputSchemaJson: `{"type":"object","properties":{"limit":{"type":"integer"},"tenantLimit":{"type":"string"}}}`}}}
	f.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		long := &pb.ContentBlock{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: strings.Repeat("word ", 1000)}}}
		return s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_Result{Result: &pb.CallToolResult{Content: []*pb.ContentBlock{long}}}})
	}
	entry := overlay.Entry{Backend: "one", Names: pattern.New("*"), MaxTokens: 100, Arguments: []overlay.Argument{{Name: "tenantLimit", Pin: overlay.Fixed(json.RawMessage(`"x"`))}}}
	d := start(t, overlaid(entry), f)
	size := func() (int, string) {
		reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"read"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(reply.Result), string(reply.Result)
	}
	if n, text := size(); n > 1000 || !strings.Contains(text, "about 1250 tokens, and at most 100") || !strings.Contains(text, "by the arguments limit.") {
		t.Errorf("%d bytes: %s", n, text)
	}
	entry.MaxTokens = 0
	d.Catalog().Replace(overlay.New(overlay.Entries{Tools: []overlay.Entry{entry}}), nil, func() {}, false)
	if n, _ := size(); n < 5000 {
		t.Errorf("without the setting %d bytes are left", n)
	}
}
