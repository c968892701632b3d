package server

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

type greetInput struct {
	Name string `json:"name" description:"Whom to greet"`
}

type computeInput struct {
	Seconds float64 `json:"seconds" description:"How long to compute" minimum:"0" maximum:"3600"`
	Label   string  `json:"label" description:"What the result is called" default:"compute"`
}

type deleteInput struct {
	Filename string `json:"filename" description:"The file to pretend to delete"`
}

// anyForm accepts any text.
const anyForm = `{"type":"object","properties":{"answer":{"type":"string","description":"Whatever there is to say"}}}`

// addTasks adds the fixtures of the task scenarios.
func addTasks(s *capability.Server) {
	capability.AddTool(s, "greet", "Greets at once, and is never a task",
		func(_ context.Context, _ *capability.Call, in greetInput) (string, error) {
			return fmt.Sprintf("Hello, %s!", in.Name), nil
		}, plain()...)
	capability.AddTool(s, "slow_compute", "Takes as long as its argument says, and may be a task", compute,
		tasks(capability.Tasks(capability.TaskOptional), capability.TasksStart(capability.TaskAtOnce))...)
	capability.AddTool(s, "failing_job", "Fails after a second, as a task",
		func(ctx context.Context, _ *capability.Call, _ none) (string, error) {
			if err := pause(ctx, time.Second); err != nil {
				return "", err
			}
			return "", fmt.Errorf("the job failed, as it always does")
		}, tasks(capability.Tasks(capability.TaskRequired))...)
	capability.AddTool(s, "protocol_error_job", "Ends with an error of the protocol, as a task",
		func(context.Context, *capability.Call, none) (string, error) {
			return "", capability.Errorf(capability.Internal, "the job broke, as it always does")
		}, tasks(capability.Tasks(capability.TaskRequired))...)
	capability.AddTool(s, "confirm_delete", "Asks before it pretends to delete a file, as a task",
		func(_ context.Context, c *capability.Call, in deleteInput) (string, error) {
			r := c.AskForm("confirm", fmt.Sprintf("Delete %s?", in.Filename), anyForm)
			if err := r.Err(); err != nil {
				return fmt.Sprintf("%s was kept: %v", in.Filename, err), nil
			}
			return in.Filename + " was deleted.", nil
		}, tasks(capability.Tasks(capability.TaskOptional), capability.TasksStart(capability.TaskAtOnce))...)
	capability.AddTool(s, "multi_input", "Asks for a name and a color at once, as a task",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			c.AskAll(capability.FormSchema("name", "What is your name?", anyForm), capability.FormSchema("color", "Which color do you like?", anyForm))
			name := c.AskForm("name", "What is your name?", anyForm)
			color := c.AskForm("color", "Which color do you like?", anyForm)
			return "Answers: " + reactionText(name) + "; " + reactionText(color), nil
		}, tasks(capability.Tasks(capability.TaskOptional), capability.TasksStart(capability.TaskAtOnce))...)
	capability.AddTool(s, "test_tool_with_task", "Asks for a name first, and greets it as a task",
		func(_ context.Context, c *capability.Call, _ none) (string, error) {
			text := greeting(c.AskForm("user_name", "What is your name?", nameForm))
			c.Defer()
			return text, nil
		}, tasks(capability.Tasks(capability.TaskRequired), capability.TasksStart(capability.TaskDeferred))...)
}

// tasks returns the options of a fixture with tasks.
func tasks(options ...capability.ToolOption) []capability.ToolOption {
	return append(plain(), options...)
}

func compute(ctx context.Context, c *capability.Call, in computeInput) (string, error) {
	whole := time.Duration(in.Seconds * float64(time.Second))
	for began := time.Now(); time.Since(began) < whole; {
		c.Progress(time.Since(began).Seconds(), in.Seconds, "Computing "+in.Label)
		if err := pause(ctx, min(time.Second, whole-time.Since(began))); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s was computed in %g s.", in.Label, in.Seconds), nil
}
