package translate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// ask returns an InputRequired with requests keyed a, b, …
func ask(requests ...*pb.InputRequest) *pb.InputRequired {
	for i, r := range requests {
		r.Key = string(rune('a' + i))
	}
	return &pb.InputRequired{Requests: requests}
}

func form(schema string) *pb.InputRequest {
	return &pb.InputRequest{Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{Message: "m", RequestedSchemaJson: schema}}}
}

func openURL(u string) *pb.InputRequest {
	return &pb.InputRequest{Request: &pb.InputRequest_ElicitUrl{ElicitUrl: &pb.ElicitUrl{Message: "m", Url: u}}}
}

func sample(x *pb.CreateMessage) *pb.InputRequest {
	return &pb.InputRequest{Request: &pb.InputRequest_CreateMessage{CreateMessage: x}}
}

func rawAsk(raw string) *pb.InputRequest {
	return &pb.InputRequest{Request: &pb.InputRequest_RawJson{RawJson: raw}}
}

var askRoots = &pb.InputRequest{Request: &pb.InputRequest_ListRoots{ListRoots: &pb.ListRoots{}}}

// unable marks a revision whose clients cannot be asked.
const unable = "unable"

// asked checks the only request's params under each revision, and validates them against the
// schema.
func asked(t *testing.T, request *pb.InputRequest, definition string, want byRevision) {
	t.Helper()
	want.each(t, func(t *testing.T, r *revision.Rules, want string) {
		in, err := InputRequired(r, ask(request))
		if want == unable {
			refused(t, err, mcp.KindMissingCapability, r.Version)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		head := `{"method":"` + string(in.Requests[0].Method) + `","params":`
		got := head + string(in.Requests[0].Params) + `}`
		want = head + want + `}`
		if in.Requests[0].URLMode && r.ElicitationID {
			// The era adds the id.
			if got != want {
				t.Errorf("got\n\t%s\nwant\n\t%s", got, want)
			}
			return
		}
		if r.Version == "2025-11-25" { // whose schema describes requests as whole messages
			got = `{"jsonrpc":"2.0","id":1,` + got[1:]
			want = `{"jsonrpc":"2.0","id":1,` + want[1:]
		}
		same(t, r, definition, []byte(got), want)
	})
}

func TestElicitForm(t *testing.T) {
	for name, tt := range map[string]struct {
		schema string
		want   byRevision
	}{
		"none": {``, byRevision{
			0: unable,
			2: `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`,
			3: `{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}`,
		}},
		"defaults": {
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"s":{"type":"string","default":"x","maxLength":5},"n":{"type":"number","default":95.50},"b":{"type":"boolean","default":true}},"required":["s"]}`,
			byRevision{
				0: unable,
				2: `{"message":"m","requestedSchema":{"type":"object","properties":{"s":{"type":"string","maxLength":5},"n":{"type":"number"},"b":{"type":"boolean","default":true}},"required":["s"]}}`,
				3: `{"mode":"form","message":"m","requestedSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"s":{"type":"string","default":"x","maxLength":5},"n":{"type":"number","default":95.50},"b":{"type":"boolean","default":true}},"required":["s"]}}`,
			}},
		"choices": {
			`{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"1","title":"One"},{"const":"2"}]},"b":{"type":"string","enum":["x"],"enumNames":["X"]}}}`,
			byRevision{
				0: unable,
				2: `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["1","2"],"enumNames":["One","2"]},"b":{"type":"string","enum":["x"],"enumNames":["X"]}}}}`,
				3: `{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"1","title":"One"},{"const":"2"}]},"b":{"type":"string","enum":["x"],"enumNames":["X"]}}}}`,
			}},
		"several choices": {
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}`,
			byRevision{
				0: unable,
				3: `{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}}`,
			}},
	} {
		t.Run(name, func(t *testing.T) { asked(t, form(tt.schema), "ElicitRequest", tt.want) })
	}
	for schema, part := range map[string]string{
		`{`:                 "input_required.requests[0].elicit_form.requested_schema_json: no valid JSON",
		`{"type":"object"}`: "requested_schema_json: no form",
		`{"properties":{}}`: "requested_schema_json: no form",
		`{"type":"object","properties":{"a":true}}`:              "requested_schema_json.properties.a: of type boolean",
		`{"type":"object","properties":{"a":{"type":"object"}}}`: "requested_schema_json.properties.a: of a type",
	} {
		for _, r := range []*revision.Rules{r2506, r2511, r2607} {
			_, err := InputRequired(r, ask(form(schema)))
			refused(t, err, mcp.KindContract, part)
		}
	}
	_, err := InputRequired(r2506, ask(form(`{"type":"object","properties":{"a":{"type":"string","oneOf":[1]}}}`)))
	refused(t, err, mcp.KindContract, "requested_schema_json.properties.a.oneOf: no choices")
	_, err = InputRequired(r2607, ask(&pb.InputRequest{Request: &pb.InputRequest_ElicitForm{}}))
	refused(t, err, mcp.KindContract, "elicit_form.message: empty")
}

func TestElicitURL(t *testing.T) {
	asked(t, openURL("https://x/?a=1"), "ElicitRequest", byRevision{0: unable, 3: `{"mode":"url","message":"m","url":"https://x/?a=1"}`})
	in, err := InputRequired(r2607, ask(openURL("https://x/")))
	if err != nil || !in.Requests[0].URLMode || in.Requests[0].Method != mcp.MethodElicit {
		t.Errorf("got %+v, %v", in, err)
	}
	for _, u := range []string{"", "x", "/a", "javascript:alert(1)", "https://", "https://me:pw@x/", "ht tp://x"} {
		_, err := InputRequired(r2607, ask(openURL(u)))
		refused(t, err, mcp.KindContract, "requests[0].elicit_url.url: ")
	}
}

func TestInputRequired(t *testing.T) {
	in, err := InputRequired(r2511, &pb.InputRequired{State: []byte("s"), RetryAfter: durationpb.New(time.Second)})
	if err != nil || in.Requests != nil || string(in.State) != "s" || in.RetryAfter != time.Second {
		t.Errorf("state alone gives %+v, %v", in, err)
	}
	two := ask(askRoots, form(""))
	two.RetryAfter = durationpb.New(time.Second)
	in, err = InputRequired(r2607, two)
	if err != nil || len(in.Requests) != 2 || in.Requests[1].Key != "b" || in.RetryAfter != 0 {
		t.Errorf("two requests give %+v, %v", in, err)
	}
	same(t, r2607, "ListRootsRequest", fmt.Appendf(nil, `{"method":"%s","params":%s}`, in.Requests[0].Method, in.Requests[0].Params), `{"method":"roots/list","params":{}}`)

	twice := ask(form(""), form(""))
	twice.Requests[1].Key = "a"
	long := ask(form(""))
	long.Requests[0].Key = strings.Repeat("k", 129)
	nameless := ask(form(""))
	nameless.Requests[0].Key = ""
	imitating := ask(askRoots, form(""))
	imitating.Requests[1].Key = "mcpedge.confirm"
	if _, err := OwnInput(r2607, imitating); err != nil {
		t.Errorf("the edge cannot use its own key: %v", err)
	}
	for part, x := range map[string]*pb.InputRequired{
		"input_required.requests[1].key: \"mcpedge.confirm\" begins with \"mcpedge.\"": imitating,
		"input_required: neither":                          {},
		"input_required.requests: 17 requests":             {Requests: make([]*pb.InputRequest, 17)},
		"input_required.state: 65537 bytes":                {State: make([]byte, 65537)},
		"input_required.retry_after: 1h0m1s is":            {State: []byte("s"), RetryAfter: durationpb.New(time.Hour + time.Second)},
		"input_required.requests[1].key: \"a\" names":      twice,
		"input_required.requests[0].key: 129":              long,
		"input_required.requests[0].key: 0 b":              nameless,
		"input_required.requests[0].request: unset":        ask(&pb.InputRequest{}),
		"input_required.requests[0].raw_json: no valid":    ask(rawAsk(`x`)),
		"input_required.requests[0].raw_json.method: mis":  ask(rawAsk(`{"method":1}`)),
		"input_required.requests[0].raw_json.method: \"pi": ask(rawAsk(`{"method":"ping"}`)),
		"input_required.requests[0].raw_json.params: of":   ask(rawAsk(`{"method":"roots/list","params":[]}`)),
	} {
		for _, r := range []*revision.Rules{r2506, r2607} {
			_, err := InputRequired(r, x)
			refused(t, err, mcp.KindContract, part)
		}
	}
}

func TestRawRequest(t *testing.T) {
	in, err := InputRequired(r2511, ask(rawAsk("{\"method\":\"sampling/createMessage\",\n\"params\":{\"n\":1.0}}"), rawAsk(`{"method":"roots/list"}`), rawAsk(`{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x.example/"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if q := in.Requests[0]; q.Method != "sampling/createMessage" || string(q.Params) != `{"n":1.0}` || q.URLMode {
		t.Errorf("got %+v", q)
	}
	if q := in.Requests[1]; q.Method != "roots/list" || string(q.Params) != `{}` {
		t.Errorf("got %+v", q)
	}
	if q := in.Requests[2]; !q.URLMode {
		t.Errorf("got %+v", q)
	}
	_, err = InputRequired(r2506, ask(rawAsk(`{"method":"elicitation/create","params":{"mode":"url"}}`)))
	refused(t, err, mcp.KindMissingCapability, "2025-06-18")
	_, err = InputRequired(r2503, ask(rawAsk(`{"method":"elicitation/create","params":{}}`)))
	refused(t, err, mcp.KindMissingCapability, "2025-03-26")
}

// A raw elicitation is validated like a typed one, and carries no more.
func TestRawElicitation(t *testing.T) {
	raw := func(params string) *pb.InputRequired {
		return ask(rawAsk(`{"method":"elicitation/create","params":` + params + `}`))
	}
	for part, params := range map[string]string{
		"raw_json.params.url: no absolute https": `{"mode":"url","message":"m","url":"javascript:alert(1)"}`,
		"raw_json.params.url: holds user data":   `{"mode":"url","message":"m","url":"https://bank.example@evil.example/"}`,
		"raw_json.params.url: of type number":    `{"mode":"url","message":"m","url":1}`,
		"raw_json.params.message: empty":         `{"mode":"form","requestedSchema":{"type":"object","properties":{}}}`,
		"raw_json.params.mode: \"file\"":         `{"mode":"file","message":"m","url":"file:///etc/passwd"}`,
		"requested_schema_json: no form":         `{"message":"m","requestedSchema":{"type":"string"}}`,
	} {
		_, err := InputRequired(r2511, raw(params))
		refused(t, err, mcp.KindContract, part)
	}
	for params, want := range map[string]string{
		`{"mode":"url","message":"m","url":"https://x.example/","elicitationId":"forged","other":1}`: `{"mode":"url","message":"m","url":"https://x.example/"}`,
		`{"message":"m","url":"javascript:1","elicitationId":"forged"}`:                              `{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}`,
		`{"mode":"form","mode":"url","message":"m","url":"https://x.example/"}`:                      `{"mode":"url","message":"m","url":"https://x.example/"}`,
	} {
		in, err := InputRequired(r2511, raw(params))
		if err != nil || string(in.Requests[0].Params) != want {
			t.Errorf("%s: %v, %+v, want %s", params, err, in, want)
		}
	}
}

// A declaration does not replace what the revision lacks: the error names that, and the revisions
// that have it.
func TestRevisionLacksCapability(t *testing.T) {
	all := mcp.Capabilities{ElicitForm: true, ElicitURL: true, Sampling: true, SamplingTools: true, Roots: true}
	tools := sample(&pb.CreateMessage{ToolChoiceMode: "auto"})
	for want, got := range map[string]*mcp.Error{
		"the call needs elicitation (from 2025-06-18 on), which protocol version 2025-03-26 does not have: use a client that speaks a later one":        MissingCapability(r2503, all, ask(form(""))),
		"the call needs elicitation by URL (from 2025-11-25 on), which protocol version 2025-06-18 does not have: use a client that speaks a later one": MissingCapability(r2506, all, ask(openURL("https://x"))),
		"the call needs elicitation (from 2025-06-18 on), sampling with tools (from 2025-11-25 on), which protocol version 2024-11-05 does not have: use a client that speaks a later one; " +
			`it also needs client capabilities that were not declared: {"roots":{}}; declare them, or use a client that has them`: MissingCapability(revision.All()[0],
			mcp.Capabilities{Sampling: true}, ask(form(""), tools, askRoots)),
		`the call needs client capabilities that were not declared: {"sampling":{}}; declare them, or use a client that has them`: MissingCapability(r2503, mcp.Capabilities{}, ask(sample(&pb.CreateMessage{}))),
	} {
		if got == nil || got.Message != want {
			t.Errorf("got  %v\nwant %s", got, want)
		}
	}
}

func TestMissingCapability(t *testing.T) {
	tools := sample(&pb.CreateMessage{ToolChoiceMode: "auto"})
	toolBlock := sample(&pb.CreateMessage{Messages: []*pb.SamplingMessage{{Content: []*pb.SamplingContent{{Content: &pb.SamplingContent_ToolUse{}}}}}})
	plain := sample(&pb.CreateMessage{})
	all := mcp.Capabilities{ElicitForm: true, ElicitURL: true, Sampling: true, SamplingTools: true, Roots: true}
	tests := []struct {
		name string
		r    *revision.Rules
		c    mcp.Capabilities
		in   *pb.InputRequired
		want string
	}{
		{"nothing asked", r2607, mcp.Capabilities{}, &pb.InputRequired{}, ``},
		{"all declared", r2607, all, ask(form(""), openURL("https://x"), tools, toolBlock, askRoots), ``},
		{"form", r2607, mcp.Capabilities{ElicitURL: true}, ask(form("")), `{"elicitation":{}}`},
		{"url", r2607, mcp.Capabilities{ElicitForm: true}, ask(openURL("https://x")), `{"elicitation":{"url":{}}}`},
		{"sampling", r2607, mcp.Capabilities{}, ask(plain), `{"sampling":{}}`},
		{"tools", r2607, mcp.Capabilities{Sampling: true}, ask(tools), `{"sampling":{"tools":{}}}`},
		{"tool block", r2607, mcp.Capabilities{Sampling: true}, ask(toolBlock), `{"sampling":{"tools":{}}}`},
		{"roots", r2607, mcp.Capabilities{}, ask(askRoots), `{"roots":{}}`},
		{"everything", r2607, mcp.Capabilities{}, ask(askRoots, form(""), openURL("https://x"), plain), `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`},
		{"raw", r2607, mcp.Capabilities{}, ask(rawAsk(`{"method":"sampling/createMessage","params":{"tools":[]}}`), rawAsk(`{"method":"x"}`), rawAsk(`{`)), `{"sampling":{"tools":{}}}`},
		{"no forms yet", r2503, all, ask(form("")), `{"elicitation":{}}`},
		{"no URLs yet", r2506, all, ask(openURL("https://x")), `{"elicitation":{"url":{}}}`},
		{"no sampling tools yet", r2506, all, ask(tools), `{"sampling":{"tools":{}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := MissingCapability(tt.r, tt.c, tt.in)
			if tt.want == "" {
				if e != nil {
					t.Errorf("got %v", e)
				}
				return
			}
			says := tt.want
			if !tt.r.Stateless {
				says = "protocol version " + tt.r.Version + " does not have"
			}
			refused(t, e, mcp.KindMissingCapability, says)
			if got := string(e.Data); got != `{"requiredCapabilities":`+tt.want+`}` {
				t.Errorf("got data %s", got)
			}
			conforms(t, r2607, "MissingRequiredClientCapabilityError", fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"m","data":%s}}`, r2607.Code(e.Kind), e.Data))
		})
	}
}
