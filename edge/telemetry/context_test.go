package telemetry

import (
	"encoding/json"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

const someParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestParseParent(t *testing.T) {
	for in, want := range map[string]string{
		someParent: someParent,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00":      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03":      someParent, // flags that are not known
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":      someParent, // a version to come
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more": someParent,
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more":  "",
		someParent + "-more": "",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": "",
		"0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": "",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01": "",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": "",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01": "",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g": "",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331":    "",
		"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": "",
		"": "",
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-" + strings.Repeat("x", 300): "",
	} {
		sc := ParseParent(in)
		if got := FormatParent(sc); got != want || sc.IsValid() != sc.IsRemote() {
			t.Errorf("%q reads as %q, remote %t; want %q", in, got, sc.IsRemote(), want)
		}
	}
}

func FuzzParseParent(f *testing.F) {
	f.Add(someParent)
	f.Add("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more")
	f.Fuzz(func(t *testing.T, in string) {
		sc := ParseParent(in)
		if !sc.IsValid() {
			if !sc.Equal(trace.SpanContext{}) {
				t.Errorf("%q is not valid, but reads as %v", in, sc)
			}
			return
		}
		out := FormatParent(sc)
		if !ParseParent(out).Equal(sc) || !strings.HasPrefix(in[3:], out[3:52]) {
			t.Errorf("%q reads as %q", in, out)
		}
	})
}

func TestMetadata(t *testing.T) {
	quote := func(s string) json.RawMessage { b, _ := json.Marshal(s); return b }
	for name, c := range map[string]struct {
		parent, state, baggage json.RawMessage
		want                   string
	}{
		"all":                  {quote(someParent), quote("a=b"), quote("c=d"), "traceparent " + someParent + " tracestate a=b baggage c=d"},
		"parent alone":         {quote(someParent), nil, nil, "traceparent " + someParent},
		"baggage alone":        {nil, nil, quote("c=d"), "baggage c=d"},
		"state without parent": {nil, quote("a=b"), nil, ""},
		"no parent":            {quote("nonsense"), quote("a=b"), quote("c=d"), "baggage c=d"},
		"of another type":      {json.RawMessage(`7`), json.RawMessage(`{}`), json.RawMessage(`["x"]`), ""},
		"line breaks":          {quote(someParent), quote("a\nb"), quote("c\r\nd: e"), "traceparent " + someParent},
		"not ASCII":            {quote(someParent), quote("é"), quote("\x7f"), "traceparent " + someParent},
		"too long":             {quote(someParent), quote(strings.Repeat("x", maxTraceState+1)), quote(strings.Repeat("x", maxBaggage+1)), "traceparent " + someParent},
	} {
		var meta mcp.Meta
		meta.SetMore(mcp.MoreMeta{TraceParent: c.parent, TraceState: c.state, Baggage: c.baggage})
		got := strings.Join((*Telemetry)(nil).AppendMetadata(nil, t.Context(), &meta), " ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWithTrace(t *testing.T) {
	sc := ParseParent(someParent)
	state, err := trace.ParseTraceState("a=b")
	if err != nil {
		t.Fatal(err)
	}
	own := `"traceparent":"` + someParent + `"`
	for _, c := range []struct {
		sc       trace.SpanContext
		in, want string
	}{
		{sc, ``, `{"_meta":{` + own + `}}`},
		{sc, `{}`, `{"_meta":{` + own + `}}`},
		{sc, ` { "message" : "x" } `, `{"_meta":{` + own + `},"message":"x"}`},
		{sc, `{"a":{"traceparent":1},"_meta":{"k":[{}],"traceparent":"theirs","tracestate":"x"},"b":2}`,
			`{"_meta":{` + own + `,"k":[{}]},"a":{"traceparent":1},"b":2}`},
		{sc.WithTraceState(state), `{"a":1}`, `{"_meta":{` + own + `,"tracestate":"a=b"},"a":1}`},
		{trace.SpanContext{}, `{"a": 1}`, `{"a": 1}`},
	} {
		got := WithTrace(json.RawMessage(c.in), c.sc)
		if string(got) != c.want {
			t.Errorf("%s becomes %s, want %s", c.in, got, c.want)
		}
		if promised := Promised([]byte(`{"params":` + string(got) + `}`)); promised.IsValid() != c.sc.IsValid() || promised.SpanID() != c.sc.SpanID() {
			t.Errorf("%s promises %v", got, promised)
		}
	}
}
