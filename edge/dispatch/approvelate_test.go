package dispatch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// A call that has begun as no task cannot wait: its client learns what to do, which is not what it has already done.
func TestApprovalsThatComeTooLate(t *testing.T) {
	f := everything()
	d := start(t, Options{Confirmations: once.NewMemory(100), Access: by(control(t, policy.Settings{
		Approve: []policy.Approve{{Name: "a", When: "true", Message: "Go?"}},
	}))}, f)
	for name, c := range map[string]struct {
		capabilities, want string
		kind               mcp.Kind
	}{
		"with the extension":    {`{"extensions":{"` + mcp.ExtensionTasks + `":{}}}`, "which only showed after it had begun, too late to become a task: send it again", mcp.KindForbidden},
		"without the extension": {`{}`, `waits for it as a task: send "` + mcp.ExtensionTasks + `":{}`, mcp.KindMissingCapability},
	} {
		call := request(t, mcp.MethodToolsCall, `{"name":"`+f.prefix+f.tools[0].GetName()+`","arguments":{}}`)
		call.Round, call.Attempt, call.Principal = 1, 1, mcp.Principal{Subject: "ann", Issuer: "https://a.example"}
		call.Client.Capabilities.Raw = json.RawMessage(c.capabilities)
		_, err := d.Call(t.Context(), rules(t, modern), call, nil)
		if e := mcp.AsError(err); err == nil || e.Kind != c.kind || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
