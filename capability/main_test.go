package capability_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(await.Leaks(m)) }

// limit returns a context with a deadline for one test.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	t.Cleanup(cancel)
	return ctx
}

// none is the input of tools without arguments.
type none struct{}

// addTool adds a tool without arguments.
func addTool[Out any](s *capability.Server, name string, f func(ctx context.Context, c *capability.Call) (Out, error), options ...capability.ToolOption) {
	capability.AddTool(s, name, "", func(ctx context.Context, c *capability.Call, _ none) (Out, error) { return f(ctx, c) }, options...)
}
