package stateful

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// TestVersionOfUnknownSessions: a request for an unknown session counts for the version that its
// header names.
func TestVersionOfUnknownSessions(t *testing.T) {
	for version, want := range map[string]string{"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "": "2025-03-26", "1999-01-01": "2025-03-26"} {
		var o Options
		spans := observed(t, &o)
		inWorld(t, o, func(t *testing.T, w *world) {
			w.header = header{era.HeaderVersion: version}
			w.post(w.a, "lost", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			w.post(w.a, "lost", `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`)
			w.post(w.a, "lost", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		})
		if len(spans.GetSpans()) == 0 {
			t.Error("nothing was observed")
		}
		for _, s := range spans.GetSpans() {
			for _, kv := range s.Attributes {
				if kv.Key == telemetry.AttrVersion && kv.Value.AsString() != want {
					t.Errorf("with %q in the header %s has the version %s, want %s", version, s.Name, kv.Value.AsString(), want)
				}
			}
		}
	}
}
