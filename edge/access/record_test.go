package access

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
)

type brokenSink struct{}

func (brokenSink) Write(context.Context, []audit.Record) (int, error) { return 0, errors.New("full") }

func (brokenSink) Close(context.Context) error { return nil }

// What is hidden is not to be told from what does not exist, also while records cannot be written: nothing is recorded of the
// latter.
func TestHiddenWhileNothingIsRecorded(t *testing.T) {
	for effect, want := range map[policy.Effect]mcp.Kind{policy.Hide: 0, policy.Deny: mcp.KindStateUnavailable} {
		records := audit.New(audit.Options{
			Sinks: map[string]audit.Sink{"broken": brokenSink{}}, Required: true, Queue: 1, Logger: slog.New(slog.DiscardHandler),
		})
		c := governed(t, Options{Records: records}, policy.Settings{Default: effect})
		err := c.Decide(t.Context(), revision.Stateless(), &mcp.Call{Attempt: 1}, &tool, none)
		if effect == policy.Hide {
			if !errors.Is(err, policy.ErrHidden) {
				t.Errorf("%s: %v, want that it is hidden", effect, err)
			}
		} else if e := mcp.AsError(err); e.Kind != want {
			t.Errorf("%s: %v, want a refusal", effect, err)
		}
		if records.Refused() != 1 {
			t.Errorf("%s: %d requests were counted as refused", effect, records.Refused())
		}
		_ = records.Close(t.Context())
	}
}
