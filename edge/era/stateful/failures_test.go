package stateful

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Every failure of a call has its own kind and text, with its values.
func TestFailuresHaveTexts(t *testing.T) {
	e := &Era{o: Options{CallLifetime: time.Minute}}
	r := &medium.Record{}
	r.Lapses, r.Method = 3, mcp.MethodToolsCall
	for f := call.Late; f <= call.NoClient; f++ {
		err := mcp.AsError(e.failed(r, f, nil))
		if err.Message == "" || strings.ContainsAny(err.Message, "{}%") || err.Kind == 0 {
			t.Errorf("failure %d is %v, %q", f, err.Kind, err.Message)
		}
	}
	for f, want := range map[call.Failure]string{
		call.Late:           "the call did not end within 1m0s, answers of the client included",
		call.Poison:         "3 servers were lost, one after the other, while they ran the call, and it is not run again: tools/call may be what ends them, do not send it again unchanged",
		call.UnknownOutcome: "the server that ran the call was lost; whether tools/call took effect is not known: check before you send it again",
	} {
		if got := e.failed(r, f, nil).Error(); got != want {
			t.Errorf("failure %d is %q", f, got)
		}
	}
}
