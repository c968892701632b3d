package capability_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
)

// An error in the data of a log message is encoded as its text; encoding/json would encode an empty
// object.
func TestLoggedErrors(t *testing.T) {
	s := capability.New("log", "1")
	addTool(s, "log", func(_ context.Context, c *capability.Call) (string, error) {
		c.Log(capability.LevelInfo, "", errors.New("no tea"))
		c.Log(capability.LevelInfo, "", map[string]any{"err": errors.New("no tea"), "n": 1})
		return "", nil
	})
	out, err := capabilitytest.Start(t, s).CallTool(limit(t), "log", nil)
	if err != nil || len(out.Logs) != 2 || out.Logs[0].GetDataJson() != `"no tea"` || out.Logs[1].GetDataJson() != `{"err":"no tea","n":1}` {
		t.Errorf("%v, %v", out, err)
	}
}
