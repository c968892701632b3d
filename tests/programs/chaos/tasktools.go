package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// stages is how many checkpoints there are in the work of a task that has them.
const stages = 5

// taskKinds are the tools that are tasks, and whether they may be run again.
var taskKinds = map[string]bool{"task_count": true, "task_job": true, "task_steps": true, "task_book": false, "task_ask": false}

// addTaskTools adds the tools whose calls are tasks, which work for taskFor at least.
func addTaskTools(s *capability.Server, l *ledger, by func() string, taskFor time.Duration) {
	task := func(options ...capability.ToolOption) []capability.ToolOption {
		return append(options, capability.Tasks(capability.TaskRequired))
	}
	pause := func(ctx context.Context, d time.Duration) error {
		if sleep(ctx, d) {
			return nil
		}
		return ctx.Err()
	}
	long := func(ctx context.Context) error { return pause(ctx, taskFor+rand.N(taskFor)) }
	capability.AddTool(s, "task_count", "Works for a while, and changes nothing",
		func(ctx context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			return done(in.Call), long(ctx)
		}, task(capability.ReadOnly())...)
	capability.AddTool(s, "task_steps", "Works in stages, each of which is done once the next one's checkpoint is",
		func(ctx context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			first := 0
			if kept := c.State(); len(kept) > 0 {
				first = int(kept[0])
			}
			for stage := first; stage < stages; stage++ {
				if err := pause(ctx, taskFor/stages); err != nil {
					return "", err
				}
				l.stage(in.Call, stage)
				if err := c.Checkpoint([]byte{byte(stage + 1)}); err != nil {
					return "", err
				}
			}
			return done(in.Call), nil
		}, task()...)
	capability.AddTool(s, "task_book", "Books, once for each task",
		func(ctx context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			err := long(context.WithoutCancel(ctx)) // What is booked is booked.
			l.book(in.Call)
			return done(in.Call), err
		}, task()...)
	capability.AddTool(s, "task_ask", "Asks, and books then",
		func(_ context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			work()
			if _, err := capability.Ask[seatForm](c, "seat", "Which seat?"); err != nil {
				return "", err
			}
			l.book(in.Call)
			work()
			return done(in.Call), nil
		}, task()...)
	capability.AddTool(s, "task_job", "Has a job of its own, whose handle is the state",
		func(_ context.Context, c *capability.Call, in countdownIn) (string, error) {
			defer l.begin(in.Call, by(), c.Attempt(), c.Round())()
			var began time.Time
			if err := began.UnmarshalText(c.State()); err != nil {
				began = time.Now()
			}
			if time.Since(began) > taskFor {
				return done(in.Call), nil
			}
			handle, err := began.MarshalText()
			if err != nil {
				return "", err
			}
			return "", &capability.InputRequired{State: handle, RetryAfter: max(200*time.Millisecond, taskFor/looks)}
		}, task(capability.Idempotent())...)
}
