package server

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

const (
	step   = 50 * time.Millisecond
	logger = "everything"
)

func addRunning(s *capability.Server, reconnection time.Duration) {
	capability.AddTool(s, "test_tool_with_progress", "Reports progress: 0, 50 and 100 of 100",
		func(ctx context.Context, c *capability.Call, _ none) (string, error) {
			for _, percent := range []float64{0, 50, 100} {
				if percent > 0 {
					if err := pause(ctx, step); err != nil {
						return "", err
					}
				}
				c.Progress(percent, 100, fmt.Sprintf("Completed step %g of 100", percent))
			}
			return "Progress was reported.", nil
		}, plain()...)
	capability.AddTool(s, "test_tool_with_logging", "Logs three messages on its way",
		func(ctx context.Context, c *capability.Call, _ none) (string, error) {
			for i, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				if i > 0 {
					if err := pause(ctx, step); err != nil {
						return "", err
					}
				}
				c.Log(capability.LevelInfo, logger, message)
			}
			return "Messages were logged.", nil
		}, plain()...)
	capability.AddTool(s, "test_logging_tool", "Logs one message of each level",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			for level := capability.LevelDebug; level <= capability.LevelEmergency; level++ {
				c.Log(level, logger, map[string]any{"message": "A message of level " + fmt.Sprint(int(level))})
			}
			return "Messages of every level were logged.", nil
		}, plain()...)
	capability.AddTool(s, "test_reconnection", "Takes so long that its stream may be closed and resumed meanwhile",
		func(ctx context.Context, _ *capability.Call, _ none) (string, error) {
			if err := pause(ctx, reconnection); err != nil {
				return "", err
			}
			return "The call ran to its end, whether the client was connected or not.", nil
		}, plain()...)
}
