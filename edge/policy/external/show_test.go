package external

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// What of params a policy server is shown: `_meta` goes first, name, URI and scalars stay, and what is not shown is said.
func TestShown(t *testing.T) {
	const most = 1 << 10
	long := strings.Repeat("y", most)
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	many := func() string {
		var b strings.Builder
		for i := range most {
			fmt.Fprintf(&b, `,"f%04d":"%d"`, i, i)
		}
		return b.String()
	}()
	for name, x := range map[string]struct {
		raw, want     string
		meta, omitted bool
	}{
		"none":                 {``, ``, false, false},
		"null":                 {`null`, ``, false, false},
		"whole":                {`{"name":"t","arguments":{"a":[1]},"_meta":{"x":1}}`, `{"name":"t","arguments":{"a":[1]},"_meta":{"x":1}}`, false, false},
		"large _meta":          {`{"_meta":{"x":"` + long + `"},"name":"t","arguments":{"a":[1]}}`, `{"name":"t","arguments":{"a":[1]}}`, true, false},
		"deep _meta":           {`{"_meta":` + deep + `,"uri":"docs://a"}`, `{"uri":"docs://a"}`, true, false},
		"an inexact _meta":     {`{"_meta":{"n":9007199254740993},"uri":"docs://a"}`, `{"uri":"docs://a"}`, true, false},
		"large requestState":   {`{"name":"t","requestState":"` + long + `"}`, `{"name":"t"}`, true, false},
		"a large argument":     {`{"name":"t","arguments":{"text":"` + long + `","tenant":7}}`, `{"name":"t","arguments":{"tenant":7}}`, false, true},
		"a large object":       {`{"name":"t","arguments":{"list":["` + long + `"],"tenant":7,"b":true,"n":null,"s":"x"},"_meta":{}}`, `{"name":"t","arguments":{"tenant":7,"b":true,"n":null,"s":"x"}}`, true, true},
		"a deep argument":      {`{"name":"t","arguments":{"deep":` + deep + `,"tenant":7}}`, `{"name":"t","arguments":{"tenant":7}}`, false, true},
		"an inexact argument":  {`{"name":"t","arguments":{"tenant":9007199254740993,"a":1.50}}`, `{"name":"t","arguments":{"a":1.5}}`, false, true},
		"an argument of 1e400": {`{"name":"t","arguments":{"a":{"b":1e400}}}`, `{"name":"t"}`, false, true},
		"digits in texts":      {`{"name":"9007199254740993","arguments":{"9007199254740993":"\\\"9007199254740993"}}`, `{"name":"9007199254740993","arguments":{"9007199254740993":"\\\"9007199254740993"}}`, false, false},
		"exact numbers":        {`{"name":"t","arguments":{"a":9007199254740992,"b":-0.1,"c":1e22}}`, `{"name":"t","arguments":{"a":9007199254740992,"b":-0.1,"c":1e22}}`, false, false},
		"a completion":         {`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"},"extra":"` + long + `"}`, `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}}`, false, true},
		"half a pair":          {`{"name":"t","arguments":{"a":"\ud800"}}`, `{"name":"t","arguments":{"a":"\ufffd"}}`, false, false},
		"null arguments":       {`{"name":"t","arguments":null,"extra":"` + long + `"}`, `{"name":"t"}`, false, true},
		"a large name":         {`{"name":"` + long + `","arguments":{"a":"` + long + `"}}`, `{"name":"` + long + `"}`, false, true},
	} {
		got, err := show(json.RawMessage(x.raw), most)
		if err != nil || got.meta != x.meta || got.omitted != "" != x.omitted {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		var text any
		raw, _ := protojson.Marshal(got.value)
		_ = json.Unmarshal(raw, &text)
		var want any
		_ = json.Unmarshal([]byte(x.want), &want)
		if fmt.Sprint(text) != fmt.Sprint(want) && (got.value != nil || x.want != "") {
			t.Errorf("%s: %.300s", name, raw)
		}
	}
	got, err := show(json.RawMessage(`{"name":"t","arguments":{"tenant":7`+many+`}}`), most)
	raw, _ := protojson.Marshal(got.value)
	if err != nil || got.omitted == "" || len(raw) > 3*most || !strings.Contains(string(raw), "tenant") {
		t.Errorf("more scalars than fit: %d bytes, %v", len(raw), err)
	}
	for _, raw := range []string{`{"name":"t","arguments":{"a":1,"a":2,"x":"` + long + `"}}`, `{"x":"` + long + `","x":1}`, `{"name":"t","name":"u"}`} {
		if got, err := show(json.RawMessage(raw), most); err == nil {
			t.Errorf("%.60s: %v, though others may read another one", raw, got.value)
		}
	}
}

// What cannot be shown is denied, also where failures are allowed: a caller chooses what it sends.
func TestOmittedIsDenied(t *testing.T) {
	raw := []byte(`{"name":"t","arguments":{"text":"` + strings.Repeat("x", DefaultMaxParams) + `"}}`)
	call := &mcp.Call{Method: mcp.MethodToolsCall}
	if err := call.Params.Parse(call.Method, raw, nil); err != nil {
		t.Fatal(err)
	}
	for _, open := range []bool{false, true} {
		c, err := New(Options{Target: "127.0.0.1:1", Open: open})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := c.Ask(t.Context(), call); err != nil || a.Outcome != Omitted || a.Allow || a.Reason == "" {
			t.Errorf("open %v: %+v, %v", open, a, err)
		}
		c.Close()
	}
}
