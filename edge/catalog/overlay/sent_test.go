package overlay_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Sent adds a default unless the caller sends the argument, in any spelling that a backend may read as it.
func TestSentDefaults(t *testing.T) {
	limit := []overlay.Argument{{Name: "maxCount", Default: json.RawMessage(`20`)}}
	for given, want := range map[string]string{
		`{}`: `{"maxCount":20}`, `{"maxCount":null}`: `{"maxCount":20}`, `{"maxCount":5}`: `{"maxCount":5}`, `{"count":5}`: `{"count":5,"maxCount":20}`,
		`{"MaxCount":5}`: `{"MaxCount":5}`, `{"max_count":5}`: `{"max_count":5}`, `{"maxCount.x":5}`: `{"maxCount.x":5}`, `{"MaxCount":null}`: `{"MaxCount":null}`,
	} {
		if got, err := overlay.Sent(limit, &mcp.Principal{}, json.RawMessage(given)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", given, got, err, want)
		}
	}
}
