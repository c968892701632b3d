package dispatch

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// TestRedactRefusals: errors of a request that reaches no backend have no secrets, whichever stage refuses it.
func TestRedactRefusals(t *testing.T) {
	masker, err := redact.Compile([]redact.Rule{{Name: "cards", Pattern: "card"}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{name: "a", tools: []*pb.Tool{{Name: "add", InputSchemaJson: addSchema}}}
	d := start(t, Options{Redact: func() *redact.Masker { return masker }}, f)
	for _, c := range []struct {
		method mcp.Method
		params string
	}{
		{mcp.MethodToolsCall, `{"name":"4111111111111111"}`},
		{mcp.MethodToolsCall, `{"name":"add","arguments":{"4111111111111111":1,"4111111111111111":1}}`},
		{mcp.MethodResourcesRead, `{"uri":"x://4111111111111111"}`},
		{mcp.MethodPromptsGet, `{"name":"4111111111111111"}`},
		{mcp.MethodToolsList, `{"cursor":"4111111111111111"}`},
	} {
		_, err := d.Call(t.Context(), rules(t, modern), in(t, "", c.method, c.params), nil)
		e := mcp.AsError(err)
		if shown := e.Message + string(e.Data); err == nil || strings.Contains(shown, "4111111111111111") || !strings.Contains(shown, "[REDACTED:cards]") {
			t.Errorf("%s %s: %s", c.method, c.params, shown)
		}
	}
}

// TestRedactOnce: what a backend returns is searched once, an error of a tool too: an entry in audit mode counts what it found once.
func TestRedactOnce(t *testing.T) {
	masker, err := redact.Compile([]redact.Rule{{Name: "words", Pattern: "(?:because)", Dry: true}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{name: "a", tools: []*pb.Tool{{Name: "add"}}}
	d := start(t, Options{Redact: func() *redact.Masker { return masker }}, f)
	for what, out := range map[string]*pb.CallToolResponse{
		"result": toolText("because"), "error for the model": failed(pb.FailureReason_FAILURE_REASON_INVALID_ARGUMENT),
		"error": failed(pb.FailureReason_FAILURE_REASON_INTERNAL),
	} {
		f.onCall = stream(nil, out)
		counts := &redact.Counts{}
		masker.CountIn(counts)
		reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"add","arguments":{}}`), nil)
		if (err == nil) == (what == "error") {
			t.Errorf("%s: %s, %v", what, reply.Result, err)
		}
		counts.Each(func(_ string, place redact.Place, _, would int64) {
			if want := int64(1); place == redact.Results && would != want {
				t.Errorf("%s: counted %d times, want %d", what, would, want)
			}
		})
	}
}
