package dispatch

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// seekSchema has features that model interfaces refuse: a combinator at the root, a reference,
// additionalProperties.
const seekSchema = `{"type":"object","properties":{"id":{"$ref":"#/$defs/id"},"name":{"type":"string","minLength":2}},` +
	`"oneOf":[{"required":["id"]},{"required":["name"]}],"additionalProperties":false,"$defs":{"id":{"type":"integer"}}}`

const seekShown = `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string","description":"At least 2 characters."}}}`

// listed is a tool in the result of tools/list.
type listed struct {
	Description               string
	InputSchema, OutputSchema json.RawMessage
}

func listedTools(t *testing.T, d *Dispatch, r *revision.Rules) map[string]listed {
	t.Helper()
	reply, err := d.Call(t.Context(), r, &mcp.Call{Method: mcp.MethodToolsList}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Tools []struct {
			Name string
			listed
		}
	}
	if err := json.Unmarshal(reply.Result, &page); err != nil {
		t.Fatal(err)
	}
	out := map[string]listed{}
	for _, x := range page.Tools {
		out[x.Name] = x.listed
	}
	return out
}

// tools/list shows the portable form of input schemas, unless full ones are configured, in every
// revision. Output schemas are unchanged.
func TestSchemasAreShown(t *testing.T) {
	const plain = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`
	for name, c := range map[string]struct {
		full         bool
		schema, says string
	}{
		"portable": {false, seekShown, "Seeks.\nArguments: Give exactly one of id, name."},
		"full":     {true, seekSchema, "Seeks."},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, Options{}, &fake{name: "one", prefix: "a_", full: c.full, tools: []*pb.Tool{
				{Name: "seek", Description: "Seeks.", InputSchemaJson: seekSchema, OutputSchemaJson: seekSchema},
				{Name: "plain", Description: "Plain.", InputSchemaJson: plain},
			}})
			for _, r := range revision.All() {
				got := listedTools(t, d, r)
				if seek := got["a_seek"]; string(seek.InputSchema) != c.schema || seek.Description != c.says {
					t.Errorf("%s: %q, %s", r.Version, seek.Description, seek.InputSchema)
				}
				if out := string(got["a_seek"].OutputSchema); out != "" && out != seekSchema {
					t.Errorf("%s: the result's schema became %s", r.Version, out)
				}
				if p := got["a_plain"]; string(p.InputSchema) != plain || p.Description != "Plain." {
					t.Errorf("%s: a plain tool became %+v", r.Version, p)
				}
			}
			if out := listedTools(t, d, rules(t, modern))["a_seek"].OutputSchema; string(out) != seekSchema {
				t.Errorf("the result's schema: %s", out)
			}
		})
	}
}

// Whatever form is shown, arguments are checked against the backend's full schema and forwarded
// unchanged.
func TestArgumentsAreCheckedByTheFullSchema(t *testing.T) {
	for name, full := range map[string]bool{"portable": false, "full": true} {
		t.Run(name, func(t *testing.T) {
			f := &fake{name: "one", full: full, tools: []*pb.Tool{{Name: "seek", InputSchemaJson: seekSchema}}}
			d := start(t, Options{}, f)
			for _, c := range []struct{ args, says string }{
				{`{"id":7}`, `called one/seek {\"id\":7}`},
				{`{"id":7,"name":"xy"}`, "id"}, // the portable form accepts both
				{`{}`, "id"},                   // and neither
				{`{"name":"x"}`, "'/name'"},    // and a shorter text
				{`{"name":"xy","b":1}`, `'b'`}, // and other members
				{`{"id":"7"}`, "want integer"}, // refused by both
				{`{"name":"xy"}`, "called one/seek"},
			} {
				before, _ := f.seen()
				reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"seek","arguments":`+c.args+`}`), nil)
				after, _ := f.seen()
				if err != nil {
					t.Fatal(err)
				}
				if reached := strings.HasPrefix(c.says, "called"); (after > before) != reached || reply.ToolError == reached ||
					!strings.Contains(string(reply.Result), c.says) {
					t.Errorf("%s: %d calls, tool error %v, %s; want %q", c.args, after-before, reply.ToolError, reply.Result, c.says)
				}
			}
		})
	}
}

// An argument that is mirrored in a header is shown with its annotation and compared with the
// header, although its schema is shown in another form.
func TestHeadersOfShownSchemas(t *testing.T) {
	const schema = `{"type":"object","properties":{"region":{"type":"string","minLength":1,"x-mcp-header":"Region"}},"additionalProperties":false}`
	d := start(t, Options{}, &fake{name: "one", tools: []*pb.Tool{{Name: "t", InputSchemaJson: schema}}})
	want := `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region","description":"At least 1 characters."}}}`
	if got := string(listedTools(t, d, rules(t, modern))["t"].InputSchema); got != want {
		t.Errorf("shown: %s", got)
	}
	for header, kind := range map[string]mcp.Kind{"eu": mcp.KindNone, "us": mcp.KindHeaderMismatch} {
		call := request(t, mcp.MethodToolsCall, `{"name":"t","arguments":{"region":"eu"}}`)
		call.Header = http.Header{"Mcp-Param-Region": {header}}
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != kind {
			t.Errorf("header %s: %v", header, err)
		}
	}
}

// The form is part of the list's digest: a change of the form is a change of the list for sessions.
func TestTheFormIsInTheDigest(t *testing.T) {
	digest := func(full bool) mcp.Digest {
		d := start(t, Options{}, &fake{name: "one", full: full, tools: []*pb.Tool{{Name: "seek", InputSchemaJson: seekSchema}}})
		return d.catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{}).Digest()
	}
	portable, full := digest(false), digest(true)
	if portable.Tools == full.Tools || portable != digest(false) {
		t.Errorf("portable %v, full %v", portable, full)
	}
	if portable.Prompts != full.Prompts || portable.Resources != full.Resources {
		t.Error("the other lists' digests differ too")
	}
}

// The work on the schemas of one backend's tools is bounded. Beyond the bound, schemas are not
// shown, which is logged once; arguments are still checked. Other backends' tools are unaffected.
func TestSchemasOfOneBackendAreBounded(t *testing.T) {
	var log lockedBuffer
	var many []*pb.Tool
	for i := range 50 {
		many = append(many, &pb.Tool{Name: fmt.Sprintf("t%d", i), Description: "Adds.", InputSchemaJson: addSchema})
	}
	a, b := &fake{name: "a", tools: many}, &fake{name: "b", tools: []*pb.Tool{{Name: "add", InputSchemaJson: addSchema}}}
	d := start(t, Options{Catalog: catalog.Options{SchemaWork: 4 << 10}, Logger: slog.New(slog.NewTextHandler(&log, nil))}, a, b)
	list := listedTools(t, d, rules(t, modern))
	if first, last := list["t0"], list["t49"]; !strings.Contains(string(first.InputSchema), `"b":`) || first.Description != "Adds." ||
		string(last.InputSchema) != `{"type":"object","properties":{}}` || !strings.Contains(last.Description, "The schema of the arguments is not shown") {
		t.Errorf("first %+v, last %+v", first, last)
	}
	if other := list["add"]; !strings.Contains(string(other.InputSchema), `"b":`) {
		t.Errorf("another backend's tool: %+v", other)
	}
	a.change(func() { a.tools = append(a.tools[:49:49], &pb.Tool{Name: "new", InputSchemaJson: addSchema}) })
	await.Until(t, "the view to follow", func() bool { return d.catalog.Shared().Tools.ByName["new"] != nil })
	if n := strings.Count(log.String(), "too large together"); n != 1 || !strings.Contains(log.String(), "backend=a tools=") {
		t.Errorf("reported %d times: %s", n, log.String())
	}
	reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"t48","arguments":{"a":1}}`), nil)
	if err != nil || !reply.ToolError || !strings.Contains(string(reply.Result), "missing property 'b'") {
		t.Errorf("arguments went unchecked: %s, %v", reply.Result, err)
	}
}

// Reading a list again does not convert unchanged schemas again, for any caller.
func TestSchemasAreMadeOnce(t *testing.T) {
	f := &fake{name: "a", tools: []*pb.Tool{{Name: "add", InputSchemaJson: addSchema}, {Name: "seek", InputSchemaJson: seekSchema}}}
	d := start(t, Options{}, f)
	before := d.catalog.Shared().Tools.ByName
	f.change(func() {
		f.tools = []*pb.Tool{{Name: "add", Description: "Adds.", InputSchemaJson: addSchema}, {Name: "seek", InputSchemaJson: addSchema}}
	})
	await.Until(t, "the view to follow", func() bool { return d.catalog.Shared().Tools.ByName["add"].Proto.GetDescription() != "" })
	after := d.catalog.Shared().Tools.ByName
	if after["add"].Form != before["add"].Form || after["add"].Shown.GetDescription() != "Adds." {
		t.Errorf("a schema that stayed was made anew, or the tool is the one before: %v", after["add"].Shown)
	}
	if after["seek"].Form == before["seek"].Form || strings.Contains(after["seek"].Shown.GetInputSchemaJson(), "name") {
		t.Errorf("a schema that changed was not: %v", after["seek"].Shown)
	}
}
