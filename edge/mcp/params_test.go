package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// parse parses params as those of a message that was outlined, and without an outline, which must be the same.
func parse(t *testing.T, method Method, params string) (*Params, error) {
	t.Helper()
	var o jsonrpc.Outline
	msg, err := jsonrpc.ParseOutlined([]byte(`{"jsonrpc":"2.0", "params" : `+params+` ,"id":1,"method":"`+string(method)+`"}`), &o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParamsOf(msg)
	var scanned Params
	if again := scanned.Parse(method, json.RawMessage(params), nil); fmt.Sprint(again) != fmt.Sprint(err) || !reflect.DeepEqual(&scanned, p) {
		t.Errorf("%s %s: by the outline %+v, %v, by a scan %+v, %v", method, params, p, err, scanned, again)
	}
	return p, err
}

// One member, chosen by the method, names the target of a request: a similar member neither
// replaces it nor is used instead.
func TestTargetIsTheMethods(t *testing.T) {
	for _, c := range []struct {
		method Method
		params string
		want   string
		has    bool
	}{
		{MethodToolsCall, `{"name":"a","uri":"b"}`, "a", true},
		{MethodToolsCall, `{"uri":"b","name":"a"}`, "a", true},
		{MethodToolsCall, `{"uri":"b"}`, "", false},
		{MethodPromptsGet, `{"name":"a","uri":"b"}`, "a", true},
		{MethodResourcesRead, `{"uri":"b","name":"a"}`, "b", true},
		{MethodResourcesRead, `{"name":"a"}`, "", false},
		{MethodSubscribe, `{"uri":"b","name":"a"}`, "b", true},
		{MethodUnsubscribe, `{"uri":"b"}`, "b", true},
		{MethodToolsCall, `{"name":7}`, "", false},
		{MethodComplete, `{"name":"a","uri":"b"}`, "", false},
	} {
		p, err := parse(t, c.method, c.params)
		if err != nil || p.Target != c.want || p.HasTarget != c.has {
			t.Errorf("%s %s: %q, %v, error %v; want %q, %v", c.method, c.params, p.Target, p.HasTarget, err, c.want, c.has)
		}
	}
}

func TestProgressToken(t *testing.T) {
	for token, want := range map[string]bool{
		`"t"`: true, `7`: true, `null`: true, `{"a":[1]}`: false, `true`: false,
		`"` + strings.Repeat("x", 1000) + `"`: true, `"` + strings.Repeat("x", 1100) + `"`: false,
	} {
		p, err := parse(t, MethodToolsCall, `{"_meta":{"progressToken":`+token+`}}`)
		if (err == nil) != want {
			t.Errorf("%.40s: error %v", token, err)
		}
		if token == "null" && p.Meta.ProgressToken != nil {
			t.Error("null is a token")
		}
	}
}

// null is absent in every member that is read, and in those of `_meta`.
func TestNullIsAbsent(t *testing.T) {
	members := []string{"arguments", "cursor", "inputResponses", "requestState", "ref", "argument", "context", "level", "requestId", "notifications",
		"task", "protocolVersion", "capabilities", "clientInfo", "_meta"}
	all := `{"name":null,"` + strings.Join(members, `":null,"`) + `":null}`
	p, err := parse(t, MethodToolsCall, all)
	if err != nil || p.HasTarget {
		t.Fatalf("%+v, %v", p, err)
	}
	if more := *p.More(); !reflect.DeepEqual(more, More{}) {
		t.Errorf("null is there: %+v", more)
	}
	if p.raw, p.more = nil, nil; !reflect.DeepEqual(*p, Params{}) {
		t.Errorf("null is there: %+v", p)
	}
	metas := []string{"progressToken", MetaVersion, MetaClientInfo, MetaCapabilities, MetaLogLevel, MetaTraceParent, MetaTraceState, MetaBaggage}
	p, err = parse(t, MethodToolsCall, `{"_meta":{"`+strings.Join(metas, `":null,"`)+`": null }}`)
	if err != nil {
		t.Fatal(err)
	}
	if more := *p.Meta.More(); !reflect.DeepEqual(more, MoreMeta{}) {
		t.Errorf("null is there: %+v", more)
	}
	if p.Meta.Raw, p.Meta.more, p.Meta.IsPassedOn = nil, nil, false; !reflect.DeepEqual(p.Meta, Meta{}) {
		t.Errorf("null is there: %+v", p.Meta)
	}
	for _, name := range members {
		if _, err := parse(t, MethodToolsCall, `{"`+name+`":null,"`+name+`":{}}`); err == nil {
			t.Errorf("%s may stand twice", name)
		}
	}
	for _, name := range metas {
		if _, err := parse(t, MethodToolsCall, `{"_meta":{"`+name+`":null,"`+name+`":"x"}}`); err == nil {
			t.Errorf("%s may stand twice", name)
		}
	}
}

// A capability that is null is not declared.
func TestNullCapabilities(t *testing.T) {
	for raw, want := range map[string]Capabilities{
		`null`:                                 {},
		`{"elicitation":null,"sampling":null}`: {},
		`{"elicitation":{"form":null,"url":null}}`:                                {ElicitForm: true},
		`{"elicitation":{"form":null,"url":{}}}`:                                  {ElicitURL: true},
		`{"elicitation":{"form":{},"url":null}}`:                                  {ElicitForm: true},
		`{"sampling":{"tools":null,"context":null},"roots":{"listChanged":null}}`: {Sampling: true, Roots: true},
	} {
		got, err := ParseCapabilities(json.RawMessage(raw))
		if got.Raw = nil; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", raw, got, err, want)
		}
	}
}

// A duplicate member is refused: two readers may take different values.
func TestMembersOccurOnce(t *testing.T) {
	for params, twice := range map[string]string{
		`{"name":"a","arguments":{},"x":1,"x":2}`:             "",
		`{"name":"a","name":"b"}`:                             "name",
		`{"name":"a","n\u0061me":"a"}`:                        "name",
		`{"arguments":{"a":1},"arguments":{"a":2}}`:           "arguments",
		`{"_meta":{},"_meta":{}}`:                             "_meta",
		`{"_meta":{"progressToken":1,"progressToken":2}}`:     "progressToken",
		`{"requestState":"a","requestState":"b"}`:             "requestState",
		`{"uri":"a","uri":"b"}`:                               "", // a tool call has no such member
		`{"_meta":{"traceparent":"a","traceparent":"b"}}`:     "traceparent",
		`{"inputResponses":{"a":1},"inputResponses":{"b":1}}`: "inputResponses",
	} {
		p, err := parse(t, MethodToolsCall, params)
		if twice == "" {
			if err != nil {
				t.Errorf("%s: %v", params, err)
			}
			continue
		}
		if AsError(err).Kind != KindInvalidParams || !strings.Contains(err.Error(), `"`+twice+`" occurs more than once`) {
			t.Errorf("%s: error %v, want one about %q", params, err, twice)
		}
		if p.Raw() != nil || p.Arguments != nil {
			t.Errorf("%s: params are kept", params)
		}
	}
}

// The scan of a message is the only one of its params: what stands in arguments and in other members' values is not read again.
func TestParamsAreScannedOnce(t *testing.T) {
	var o jsonrpc.Outline
	msg, err := jsonrpc.ParseOutlined([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":["y"]},"_meta":{"progressToken":"t","other":{"z":1}}}}`), &o)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{`["y"]`, `{"z":1}`} {
		at := strings.Index(string(msg.Params), value)
		copy(msg.Params[at:], strings.Repeat("}", len(value))) // No scan gets past it.
	}
	p, err := ParamsOf(msg)
	if err != nil || p.Target != "a" || string(p.Meta.ProgressToken) != `"t"` || len(p.Arguments) != len(`{"x":["y"]}`) {
		t.Errorf("%+v, %v", p, err)
	}
}

// The members of a message that was scanned with an outline are read without another scan: their separators are not read again.
func TestParamsOfAnOutlineAreNotScanned(t *testing.T) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"a":1},"_meta":{"progressToken":7,"` + MetaLogLevel + `":"info"}}}`)
	var outline jsonrpc.Outline
	msg, err := jsonrpc.ParseOutlined(body, &outline)
	if err != nil {
		t.Fatal(err)
	}
	for _, separated := range []string{`"name":`, `,"arguments":`, `,"_meta":`, `"progressToken":`, `,"` + MetaLogLevel + `":`} {
		at := bytes.Index(msg.Params, []byte(separated))
		copy(msg.Params[at:], strings.NewReplacer(",", "#", `":`, `"#`).Replace(separated)) // in the body
	}
	if _, err := ParamsOf(jsonrpc.Message{Method: msg.Method, Params: msg.Params}); err == nil {
		t.Fatal("a scan reads the params without separators")
	}
	p, err := ParamsOf(msg)
	if err != nil || p.Target != "find" || string(p.Arguments) != `{"a":1}` || string(p.Meta.ProgressToken) != "7" || string(p.Meta.More().LogLevel) != `"info"` {
		t.Errorf("%+v, %v", p, err)
	}
}
