package dispatch

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

const findSchema = `{"type":"object","properties":{"query":{"type":"string"},"tenantId":{"type":"string","x-mcp-header":"Tenant"},` +
	`"verbose":{"type":"boolean"},"limit":{"type":"integer","description":"Most."}},"required":["query","tenantId","limit"],"additionalProperties":false}`

// pinnedTenant pins tenantId to a claim of the caller and verbose to false, and gives limit a
// default.
func pinnedTenant(t *testing.T) overlay.Entry {
	t.Helper()
	from, err := policy.CompileValue("principal.claims.tenant")
	if err != nil {
		t.Fatal(err)
	}
	return overlay.Entry{Backend: "one", Names: pattern.New("find"), Arguments: []overlay.Argument{
		{Name: "limit", Default: json.RawMessage(`20`), Description: "How many at most."},
		{Name: "tenantId", Pin: from}, {Name: "verbose", Pin: overlay.Fixed(`false`)},
	}}
}

// callerOf returns a caller whose claim tenant is a JSON value; empty means that there is none.
func callerOf(tenant string) mcp.Principal {
	p := mcp.Principal{Issuer: "https://id", Subject: "alice"}
	if tenant != "" {
		p.Forwarded = map[string]json.RawMessage{"tenant": json.RawMessage(tenant)}
	}
	return p
}

// What clients see has no pinned argument, and the default and description of others. The backend
// gets the pinned values, whatever it lists.
func TestPinnedArguments(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: findSchema}}}
	d := start(t, overlaid(pinnedTenant(t)), f)
	reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsList, `{}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	list := string(reply.Result)
	for _, hidden := range []string{"tenant", "Tenant", "verbose"} {
		if strings.Contains(list, hidden) {
			t.Errorf("the list names %s: %s", hidden, list)
		}
	}
	if !strings.Contains(list, "Default: 20.") || !strings.Contains(list, "How many at most.") || !strings.Contains(list, `"required":["query"]`) {
		t.Errorf("the list is %s", list)
	}
	for sent, want := range map[string]string{
		`{"query":"x"}`:                        `{"query":"x","limit":20,"tenantId":"acme","verbose":false}`,
		`{"limit":null,"query":"x"}`:           `{"query":"x","limit":20,"tenantId":"acme","verbose":false}`,
		`{"limit":3,"query":"x"}`:              `{"limit":3,"query":"x","tenantId":"acme","verbose":false}`,
		`{"query":"{\"tenantId\":\"other\"}"}`: `{"query":"{\"tenantId\":\"other\"}","limit":20,"tenantId":"acme","verbose":false}`,
	} {
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":`+sent+`}`)
		call.Principal = callerOf(`"acme"`)
		reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
		var out struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(reply.Result, &out); err != nil {
			t.Fatal(err)
		}
		if err != nil || out.Content[0].Text != "called one/find "+want {
			t.Errorf("%s: %s, %v; want %s", sent, reply.Result, err, want)
		}
		if p := &call.Params; string(p.Sent.Arguments) != sent || string(p.Arguments) != want || call.Backend != "one" {
			t.Errorf("%s: the call has %s, sent as %s, of %q", sent, p.Arguments, p.Sent.Arguments, call.Backend)
		}
	}
}

// No spelling of a pinned argument reaches a backend, and no error names what is pinned.
func TestPinsCannotBeSent(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: findSchema}}}
	d := start(t, overlaid(pinnedTenant(t)), f)
	for _, name := range []string{
		`tenantId`, `tenantid`, `TENANTID`, `TenantId`, `tenant_id`, `tenant-id`, `TENANT_ID`, `_tenantId`, `tenantId_`, `t_e_n_a_n_t_i_d`,
		`tenantıd`, `TENANTİD`, `tenant\u0131d`, `\u0074enantId`, `tenant\u0049d`, `tenant\u005fid`, `verbose`, `Verbose`, `verboſe`, `VERBOSE`, `ver_bose`,
	} {
		for _, value := range []string{`"other"`, `"acme"`, `null`, `""`, `{"a":1}`, `[]`, `false`, `true`} {
			for _, arguments := range []string{`{"query":"x","` + name + `":` + value + `}`, `{"` + name + `":` + value + `,"query":"x"}`} {
				call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":`+arguments+`}`)
				call.Principal = callerOf(`"acme"`)
				reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
				if kindOf(t, err) != mcp.KindInvalidParams || strings.Contains(err.Error(), "tenant") || strings.Contains(err.Error(), "erbose") {
					t.Errorf("%s: %s, %v", arguments, reply.Result, err)
				}
			}
		}
	}
	if calls, _ := f.seen(); calls != 0 {
		t.Errorf("the backend was called %d times", calls)
	}
	// Arguments that are no object, or have a name twice, have no pinned value either.
	for _, arguments := range []string{`[]`, `"x"`, `7`, `{"query":"x","query":"y"}`} {
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":`+arguments+`}`)
		call.Principal = callerOf(`"acme"`)
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindInvalidParams {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x"}}`)
	call.Principal, call.Header = callerOf(`"acme"`), http.Header{"Mcp-Param-Tenant": {"acme"}}
	if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindHeaderMismatch {
		t.Errorf("with the header of a pinned argument: %v", err)
	}
}

// No member of which a binder reads a part as a pinned argument reaches a backend whose schema is
// open, or its prompt.
func TestPartsOfPinsCannotBeSent(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: strings.Replace(findSchema, `,"additionalProperties":false`, "", 1)}},
		prompts: []*pb.Prompt{{Name: "find", Arguments: []*pb.PromptArgument{{Name: "tenantId"}, {Name: "query"}}}}}
	tool := pinnedTenant(t)
	prompt := tool
	prompt.Arguments = tool.Arguments[1:2]
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(overlay.Entries{Tools: []overlay.Entry{tool}, Prompts: []overlay.Entry{prompt}})}}, f)
	send := func(method mcp.Method, member string) error {
		call := request(t, method, `{"name":"find","arguments":{"query":"x","`+member+`":"other"}}`)
		call.Principal = callerOf(`"acme"`)
		_, err := d.Call(t.Context(), rules(t, modern), call, nil)
		return err
	}
	for _, method := range []mcp.Method{mcp.MethodToolsCall, mcp.MethodPromptsGet} {
		for _, member := range []string{
			"tenantId[0]", "tenantId[]", "tenantId[$ne]", "tenantId.id", "tenant_id.x.y", "tenant.id.x", "TENANTID[a][b]", "tenantId .x", "tenant[id][0]", "[tenantId][0]", ".tenantId.x",
		} {
			if err := send(method, member); kindOf(t, err) != mcp.KindInvalidParams || strings.Contains(err.Error(), "tenant") {
				t.Errorf("%s, %s: %v", method, member, err)
			}
		}
		if calls, _ := f.seen(); calls != 0 {
			t.Fatalf("%s: the backend was called %d times", method, calls)
		}
	}
	for _, member := range []string{"tenantIds[0]", "tenant[0]", "tenant.name", "x.tenantId", "[].x", "other[tenantId]"} {
		if err := send(mcp.MethodToolsCall, member); err != nil {
			t.Errorf("%s: %v", member, err)
		}
	}
}

// A caller without the value is denied: no claim, null, empty, of another type, or anonymous.
func TestPinnedValueIsNeeded(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: findSchema}}}
	d := start(t, overlaid(pinnedTenant(t)), f)
	for _, tenant := range []string{``, `null`, `""`, `7`, `true`, `["acme"]`, `{"a":1}`} {
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x"}}`)
		call.Principal = callerOf(tenant)
		_, err := d.Call(t.Context(), rules(t, modern), call, nil)
		if kindOf(t, err) != mcp.KindForbidden || strings.Contains(mcp.AsError(err).Message, "tenant") {
			t.Errorf("tenant %s: %v", tenant, err)
		}
	}
	call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x"}}`)
	if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindUnauthenticated {
		t.Errorf("an anonymous caller: %v", err)
	}
	if calls, _ := f.seen(); calls != 0 {
		t.Errorf("the backend was called %d times", calls)
	}
}

// Resolve refuses arguments with a pinned one, so that no record and no task is made of the call.
func TestPinsAreCheckedBeforeARecord(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: findSchema, TaskSupport: &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_OPTIONAL}}}}
	d := start(t, overlaid(pinnedTenant(t)), f)
	for arguments, want := range map[string]mcp.Kind{
		`{"query":"x","tenantId":"acme"}`: mcp.KindInvalidParams, `{"query":"x","tenantId":"other"}`: mcp.KindInvalidParams, `{"tenantid":null}`: mcp.KindInvalidParams,
		`[]`: mcp.KindInvalidParams, `{"query":"x","query":"y"}`: mcp.KindInvalidParams, `{"query":"x"}`: 0,
	} {
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":`+arguments+`}`)
		call.Principal = callerOf(`"acme"`)
		if _, err := d.Resolve(t.Context(), rules(t, modern), call); kindOf(t, err) != want || want != 0 && call.Backend != "" {
			t.Errorf("%s: resolved with %v, bound to %q", arguments, err, call.Backend)
		}
	}
}

// A later round runs with the value of the first one, or not at all.
func TestPinsOfLaterRounds(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: findSchema}}}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Overlay: overlay.New(overlay.Entries{Tools: []overlay.Entry{pinnedTenant(t)}})}}, f)
	first := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x"}}`)
	first.Principal = callerOf(`"acme"`)
	if _, err := d.Resolve(t.Context(), rules(t, modern), first); err != nil {
		t.Fatal(err)
	}
	later := func(arguments json.RawMessage, tenant string) error {
		params := append(append([]byte(`{"name":"find","arguments":`), arguments...), '}')
		call := request(t, mcp.MethodToolsCall, string(params))
		call.Backend, call.Principal, call.Round = "one", callerOf(tenant), 2
		_, err := d.Call(t.Context(), rules(t, modern), call, nil)
		return err
	}
	if err := later(first.Params.Arguments, `"acme"`); err != nil {
		t.Errorf("the same caller: %v", err)
	}
	for what, err := range map[string]error{
		"another claim":        later(first.Params.Arguments, `"other"`),
		"no claim":             later(first.Params.Arguments, ``),
		"without the pins":     later(first.Params.Sent.Arguments, `"acme"`),
		"with another value":   later(json.RawMessage(strings.Replace(string(first.Params.Arguments), "acme", "other", 1)), `"acme"`),
		"with one more":        later(json.RawMessage(strings.Replace(string(first.Params.Arguments), `{`, `{"tenant_id":"other",`, 1)), `"acme"`),
		"with another's value": later(json.RawMessage(strings.Replace(string(first.Params.Arguments), "acme", "other", 1)), `"other2"`),
	} {
		if err == nil {
			t.Errorf("%s: the round ran", what)
		}
	}
	changed := pinnedTenant(t)
	changed.Arguments[2].Pin = overlay.Fixed(`true`)
	d.Catalog().Replace(overlay.New(overlay.Entries{Tools: []overlay.Entry{changed}}), nil, func() {}, false)
	if err := later(first.Params.Arguments, `"acme"`); kindOf(t, err) != mcp.KindForbidden {
		t.Errorf("after another value was pinned: %v", err)
	}
	if calls, _ := f.seen(); calls != 1 {
		t.Errorf("the backend was called %d times", calls)
	}
}

// A default is not added beside another spelling of its argument, which a backend may read as the same: in a tool whose schema is
// open, and in the context of a prompt's completion.
func TestDefaultBesideAnotherSpelling(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: `{"type":"object","properties":{"query":{},"maxCount":{}}}`}},
		prompts: []*pb.Prompt{{Name: "find", Arguments: []*pb.PromptArgument{{Name: "query"}, {Name: "maxCount"}}}}}
	var completed []string
	f.onComplete = func(_, _, _ string) ([]string, error) { return []string{"v"}, nil }
	f.onContext = func(given map[string]string) {
		for name, value := range given {
			completed = append(completed, name+"="+value)
		}
	}
	entry := overlay.Entry{Backend: "one", Names: pattern.New("find"), Arguments: []overlay.Argument{{Name: "maxCount", Default: json.RawMessage(`20`)}}}
	prompt := entry
	prompt.Arguments = []overlay.Argument{{Name: "maxCount", Default: json.RawMessage(`"20"`)}}
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(overlay.Entries{Tools: []overlay.Entry{entry}, Prompts: []overlay.Entry{prompt}})}}, f)
	for sent, want := range map[string]string{
		`{"MaxCount":5}`: `{"MaxCount":5}`, `{"max_count":5,"query":"x"}`: `{"max_count":5,"query":"x"}`, `{"MAX-COUNT":null}`: `{"MAX-COUNT":null}`,
		`{"maxCount.x":5}`: `{"maxCount.x":5}`, `{"maxCount[0]":5}`: `{"maxCount[0]":5}`,
		`{"maxCounts":5}`: `{"maxCounts":5,"maxCount":20}`, `{"maxCount":5}`: `{"maxCount":5}`, `{"maxCount":null}`: `{"maxCount":20}`, `{}`: `{"maxCount":20}`,
	} {
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":`+sent+`}`)
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); err != nil || string(call.Params.Arguments) != want {
			t.Errorf("%s: the backend gets %s, %v; want %s", sent, call.Params.Arguments, err, want)
		}
	}
	for context, want := range map[string]string{`{"MaxCount":"5"}`: "MaxCount=5", `{}`: "maxCount=20", `{"maxCount":"5"}`: "maxCount=5"} {
		completed = nil
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodComplete,
			`{"ref":{"type":"ref/prompt","name":"find"},"argument":{"name":"query","value":""},"context":{"arguments":`+context+`}}`), nil); err != nil || strings.Join(completed, " ") != want {
			t.Errorf("a completion in the context %s: the backend gets %q, %v; want %s", context, completed, err, want)
		}
	}
	completed = nil
	_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"find"},"argument":{"name":"max_count","value":"2"}}`), nil)
	if err != nil || completed != nil {
		t.Errorf("the completion of another spelling: the backend gets %q, %v", completed, err)
	}
}

// A client that sends a null in the place of a default, and does so again in a later round, gets the default in both.
func TestDefaultOfNullInLaterRounds(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: findSchema}}}
	d := start(t, overlaid(pinnedTenant(t)), f)
	const params = `{"name":"find","arguments":{"limit":null,"query":"x"}}`
	first := request(t, mcp.MethodToolsCall, params)
	first.Principal = callerOf(`"acme"`)
	if _, err := d.Resolve(t.Context(), rules(t, modern), first); err != nil {
		t.Fatal(err)
	}
	later := request(t, mcp.MethodToolsCall, params)
	later.Backend, later.Principal, later.Round = "one", callerOf(`"acme"`), 2
	later.Params.Continue(first.Params.Target, first.Params.Added())
	reply, err := d.Call(t.Context(), rules(t, modern), later, nil)
	if err != nil || !strings.Contains(string(reply.Result), `\"limit\":20`) {
		t.Errorf("%s, %v", reply.Result, err)
	}
}

// A tool whose schema does not let an argument be taken out, or that lacks the argument, is hidden:
// it is never served without its pins.
func TestImpossiblePinsHideTheTool(t *testing.T) {
	for what, schema := range map[string]string{
		"no such argument":  `{"type":"object","properties":{"query":{"type":"string"}}}`,
		"no properties":     `{"type":"object"}`,
		"oneOf":             `{"type":"object","properties":{"tenantId":{},"verbose":{},"limit":{}},"oneOf":[{"required":["tenantId"]},{"required":["query"]}]}`,
		"if":                `{"type":"object","properties":{"tenantId":{},"verbose":{},"limit":{}},"if":{"properties":{"tenantId":{"const":"x"}}}}`,
		"a reference":       `{"$ref":"#/$defs/a","properties":{"tenantId":{},"verbose":{},"limit":{}}}`,
		"a count":           `{"minProperties":1,"properties":{"tenantId":{},"verbose":{},"limit":{}}}`,
		"a twin":            `{"properties":{"tenantId":{},"tenant_id":{},"verbose":{},"limit":{}}}`,
		"twice":             `{"properties":{"tenantId":{}},"properties":{"verbose":{},"limit":{}}}`,
		"a reference to it": `{"properties":{"tenantId":{},"verbose":{},"limit":{},"query":{"$ref":"#/properties/tenantId"}}}`,
		"names":             `{"properties":{"tenantId":{},"verbose":{},"limit":{}},"propertyNames":{"enum":["tenantId"]}}`,
		"another type":      `{"properties":{"tenantId":{},"verbose":{"type":"string"},"limit":{}}}`,
		"a default's type":  `{"properties":{"tenantId":{},"verbose":{},"limit":{"type":"string"}}}`,
		"none":              ``,
	} {
		f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: schema}, {Name: "keep"}}}
		d := start(t, overlaid(pinnedTenant(t)), f)
		if got := strings.Join(listedNames(t, d, mcp.MethodToolsList), " "); got != "keep" {
			t.Errorf("%s: the list has %s", what, got)
		}
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x"}}`)
		call.Principal = callerOf(`"acme"`)
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindUnknownTool {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A prompt's argument is pinned as a tool's, in a request and for its completions.
func TestPinnedPromptArguments(t *testing.T) {
	entry := pinnedTenant(t)
	entry.Arguments = entry.Arguments[1:2]
	f := &fake{name: "one", prompts: []*pb.Prompt{{Name: "find", Arguments: []*pb.PromptArgument{{Name: "query"}, {Name: "tenantId", Required: true}}}}}
	var asked []string
	f.onComplete = func(_, argument, _ string) ([]string, error) {
		asked = append(asked, argument)
		return []string{"v"}, nil
	}
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(overlay.Entries{Prompts: []overlay.Entry{entry}})}}, f)
	reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodPromptsList, `{}`), nil)
	if err != nil || strings.Contains(string(reply.Result), "tenant") || !strings.Contains(string(reply.Result), "query") {
		t.Errorf("the list is %s, %v", reply.Result, err)
	}
	do := func(method mcp.Method, params string) (mcp.Reply, error) {
		call := request(t, method, params)
		call.Principal = callerOf(`"acme"`)
		return d.Call(t.Context(), rules(t, modern), call, nil)
	}
	for params, ok := range map[string]bool{
		`{"name":"find"}`: true, `{"name":"find","arguments":{"query":"x"}}`: true, `{"name":"find","arguments":null}`: true,
		`{"name":"find","arguments":{"tenantId":"other"}}`: false, `{"name":"find","arguments":{"TenantID":"other"}}`: false,
	} {
		if _, err := do(mcp.MethodPromptsGet, params); (err == nil) != ok {
			t.Errorf("%s: %v", params, err)
		}
	}
	complete := func(argument, context string) (mcp.Reply, error) {
		return do(mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"find"},"argument":{"name":"`+argument+`","value":""},"context":{"arguments":`+context+`}}`)
	}
	for _, argument := range []string{"tenantId", "tenant_id", "TENANTID"} {
		if reply, err := complete(argument, `{}`); err != nil || !strings.Contains(string(reply.Result), `"values":[]`) {
			t.Errorf("the completion of %s is %s, %v", argument, reply.Result, err)
		}
	}
	if reply, err := complete("query", `{"tenantid":"other"}`); kindOf(t, err) != mcp.KindInvalidParams {
		t.Errorf("a completion in the context of another tenant: %s, %v", reply.Result, err)
	}
	call := request(t, mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"find"},"argument":{"name":"query","value":""}}`)
	call.Principal = callerOf(`7`)
	if reply, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindForbidden {
		t.Errorf("a completion for a caller whose claim is not a text: %s, %v", reply.Result, err)
	}
	got := request(t, mcp.MethodPromptsGet, `{"name":"find"}`)
	got.Principal = callerOf(`7`)
	if _, err := d.Call(t.Context(), rules(t, modern), got, nil); kindOf(t, err) != mcp.KindForbidden || strings.Contains(err.Error(), "params") {
		t.Errorf("a prompt for a caller whose claim is not a text: %v", err)
	}
	if reply, err := complete("query", `{}`); err != nil || !strings.Contains(string(reply.Result), `"v"`) {
		t.Errorf("the completion of query is %s, %v", reply.Result, err)
	}
	if len(asked) != 1 || asked[0] != "query" {
		t.Errorf("the backend was asked for %q", asked)
	}
}
