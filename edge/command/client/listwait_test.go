package client

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// With --wait, a list waits for backends that are starting.
func TestListWaitsForBackends(t *testing.T) {
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	cfg := harness.Config(config.Backend{Name: "late", Target: addr})
	cfg.Advanced.StartWait = time.Millisecond
	edge := harness.Start(t, cfg)
	var out bytes.Buffer
	if err := List(t.Context(), []string{"--wait=300ms", edge.URL}, "test", &out, &out); err == nil || !strings.Contains(err.Error(), "no backend can be asked") {
		t.Fatalf("without a backend: %v", err)
	}
	s := capability.New("late", "1")
	capability.AddTool(s, "greet", "Greets", func(context.Context, *capability.Call, struct{}) (string, error) { return "hello", nil })
	time.AfterFunc(3*dialAgain, func() { harness.ServeAt(t, "late", addr, s) })
	if err := List(t.Context(), []string{"--wait=1m", edge.URL}, "test", &out, &out); err != nil || !strings.Contains(out.String(), "greet") {
		t.Errorf("%q, %v", &out, err)
	}
}
