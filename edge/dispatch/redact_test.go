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
