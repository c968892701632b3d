package dispatch

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// A call runs if an approver, not a client, granted exactly it, and waits again otherwise.
func TestGrantsAreOfOneCall(t *testing.T) {
	for name, c := range map[string]struct {
		change func(call *mcp.Call, v *mcp.ApprovalVerdict)
		runs   bool
	}{
		"it was granted":                {func(*mcp.Call, *mcp.ApprovalVerdict) {}, true},
		"another call was granted":      {func(_ *mcp.Call, v *mcp.ApprovalVerdict) { v.Call = []byte("another") }, false},
		"another approval was granted":  {func(_ *mcp.Call, v *mcp.ApprovalVerdict) { v.Granted = [][]byte{[]byte("another")} }, false},
		"none was granted":              {func(_ *mcp.Call, v *mcp.ApprovalVerdict) { v.Granted = nil }, false},
		"the client answers":            {func(call *mcp.Call, _ *mcp.ApprovalVerdict) { call.Responses[0].Method = "" }, false},
		"the client answers a question": {func(call *mcp.Call, _ *mcp.ApprovalVerdict) { call.Responses[0].Method = mcp.MethodElicit }, false},
		"another key":                   {func(call *mcp.Call, _ *mcp.ApprovalVerdict) { call.Responses[0].Key = "approve" }, false},
		"another principal":             {func(call *mcp.Call, _ *mcp.ApprovalVerdict) { call.Principal.Subject = "bob" }, false},
		"another issuer's principal":    {func(call *mcp.Call, _ *mcp.ApprovalVerdict) { call.Principal.Issuer = "https://b.example" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := everything()
			d := start(t, Options{Confirmations: once.NewMemory(100), Access: by(control(t, policy.Settings{
				Approve: []policy.Approve{{Name: "a", When: "true", Message: "Go?"}},
			}))}, f)
			call := func() *mcp.Call {
				c := request(t, mcp.MethodToolsCall, `{"name":"`+f.prefix+f.tools[0].GetName()+`","arguments":{}}`)
				c.Round, c.Attempt, c.Principal = 1, 1, mcp.Principal{Subject: "ann", Issuer: "https://a.example"}
				c.Task = &mcp.CallTask{ID: "task", Until: time.Now().Add(time.Hour)}
				return c
			}
			asked, err := d.Call(t.Context(), rules(t, modern), call(), nil)
			if err != nil || asked.Input == nil || asked.Input.Requests[0].Method != mcp.MethodApprove {
				t.Fatalf("%+v, %v", asked, err)
			}
			var question mcp.Approval
			if err := json.Unmarshal(asked.Input.Requests[0].Params, &question); err != nil {
				t.Fatal(err)
			}
			verdict := mcp.ApprovalVerdict{End: mcp.ApprovalGranted, Call: question.Call, Granted: question.Digests, By: mcp.Approver{Subject: "lee"}}
			second := call()
			second.Round, second.Begun, second.State = 2, true, asked.Input.State
			second.Responses = []mcp.InputResponse{{Key: mcp.ApprovalKey, Method: mcp.MethodApprove}}
			c.change(second, &verdict)
			second.Responses[0].Result, _ = json.Marshal(verdict)
			got, err := d.Call(t.Context(), rules(t, modern), second, nil)
			calls, _ := f.seen()
			if waits := got.Input != nil && got.Input.Requests[0].Method == mcp.MethodApprove; err == nil && waits == c.runs || (calls == 1) != c.runs {
				t.Errorf("it ended with %+v, %v after %d calls", got, err, calls)
			}
		})
	}
}
