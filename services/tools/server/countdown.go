package server

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

const (
	maxSteps    = 1000
	maxInterval = 60_000
)

type countdown struct {
	Steps    int `json:"steps" title:"Steps" default:"5" minimum:"1" maximum:"1000"`
	Interval int `json:"interval_ms" title:"Interval" default:"200" minimum:"0" maximum:"60000" description:"Milliseconds before each step"`
}

func addCountdown(s *capability.Server) {
	capability.AddTool(s, "countdown",
		"Counts down at a steady pace, with progress and a log message after each step. It shows how long calls behave.",
		runCountdown, readOnlyOptions("Countdown")...)
}

func runCountdown(ctx context.Context, c *capability.Call, in countdown) (string, error) {
	if in.Steps < 1 || in.Steps > maxSteps {
		return "", fmt.Errorf("steps: %d is not from 1 to %d", in.Steps, maxSteps)
	}
	if in.Interval < 0 || in.Interval > maxInterval {
		return "", fmt.Errorf("interval_ms: %d is not from 0 to %d", in.Interval, maxInterval)
	}
	interval := time.Duration(in.Interval) * time.Millisecond
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for step := 1; step <= in.Steps; step++ {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-timer.C:
		}
		left := in.Steps - step
		c.Progress(float64(step), float64(in.Steps), fmt.Sprintf("%d left", left))
		c.Log(capability.LevelInfo, "countdown", fmt.Sprintf("step %d of %d, %d left", step, in.Steps, left))
		timer.Reset(interval)
	}
	return fmt.Sprintf("Counted down %d steps, %v apart.", in.Steps, interval), nil
}
