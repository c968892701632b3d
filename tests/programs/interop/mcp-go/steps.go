package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

func (v *visit) tools(ctx context.Context) error {
	got, err := v.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	var names []string
	for _, t := range got.Tools {
		names = append(names, t.Name)
	}
	for _, want := range []string{"calculator_arithmetic", "book_trip", "countdown"} {
		if !slices.Contains(names, want) {
			return fmt.Errorf("names lack %s: %v", want, names)
		}
	}
	return nil
}

func (v *visit) structured(ctx context.Context) error {
	got, err := v.call(ctx, "calculator_arithmetic", map[string]any{"expression": "2*(3+4)^2"})
	if err != nil {
		return err
	}
	want := map[string]any{"result": 98.0, "expression": "2*(3+4)^2"}
	return errors.Join(equal("text", text(got), "98"), equal("structured content", got.StructuredContent, want))
}

func (v *visit) mistakes(ctx context.Context) error {
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = "calculator_arithmetic", map[string]any{"expression": "1/0"}
	got, err := v.client.CallTool(ctx, r)
	if err != nil {
		return err
	}
	if err := errors.Join(equal("isError", got.IsError, true), contains("text", text(got), "division by zero")); err != nil {
		return err
	}
	r.Params.Name = "no_such_tool"
	if _, err = v.client.CallTool(ctx, r); err == nil {
		return errors.New("an unknown tool was called")
	}
	return contains("error", err.Error(), "no_such_tool")
}

func (v *visit) parallel(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, 20)
	for n := range errs {
		all.Go(func() {
			got, err := v.call(ctx, "calculator_arithmetic", map[string]any{"expression": fmt.Sprintf("%d*2", n)})
			if err == nil {
				err = equal("text", text(got), fmt.Sprint(n*2))
			}
			errs[n] = err
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (v *visit) elicitation(ctx context.Context) error {
	for _, c := range []struct {
		action mcp.ElicitationResponseAction
		status string
	}{
		{mcp.ElicitationResponseActionDecline, "declined"}, {mcp.ElicitationResponseActionCancel, "cancelled"},
		{mcp.ElicitationResponseActionAccept, "booked"},
	} {
		v.action = c.action
		got, err := v.call(ctx, "book_trip", map[string]any{"destination": "Lisbon", "nights": 2})
		if err != nil {
			return err
		}
		content, _ := got.StructuredContent.(map[string]any)
		if err := equal("status", content["status"], c.status); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) sampling(ctx context.Context) error {
	got, err := v.call(ctx, "recommend_flight", map[string]any{"origin": "Zurich", "destination": "Barcelona"})
	if err != nil {
		return err
	}
	return contains("text", text(got), "Take the first one.")
}

func (v *visit) roots(ctx context.Context) error {
	got, err := v.call(ctx, "list_workspace", nil)
	if err != nil {
		return err
	}
	return contains("text", text(got), "file:///project/a")
}

func (v *visit) resources(ctx context.Context) error {
	uri, err := v.file("note.txt")
	if err != nil {
		return err
	}
	all, err := v.client.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all.Resources, func(r mcp.Resource) bool { return r.Name == "note.txt" }) {
		return fmt.Errorf("resources lack note.txt: %v", all.Resources)
	}
	request := mcp.ReadResourceRequest{}
	request.Params.URI = uri
	got, err := v.client.ReadResource(ctx, request)
	if err != nil {
		return err
	}
	if len(got.Contents) != 1 {
		return fmt.Errorf("%d contents, want 1", len(got.Contents))
	}
	content, _ := mcp.AsTextResourceContents(got.Contents[0])
	if content == nil {
		return fmt.Errorf("content is %T, want text", got.Contents[0])
	}
	return equal("text", content.Text, "first\n")
}

func (v *visit) prompts(ctx context.Context) error {
	all, err := v.client.ListPrompts(ctx, mcp.ListPromptsRequest{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all.Prompts, func(p mcp.Prompt) bool { return p.Name == "plan-vacation" }) {
		return fmt.Errorf("prompts lack plan-vacation: %v", all.Prompts)
	}
	request := mcp.GetPromptRequest{}
	request.Params.Name, request.Params.Arguments = "plan-vacation", map[string]string{"destination": "Lisbon", "days": "3"}
	got, err := v.client.GetPrompt(ctx, request)
	if err != nil {
		return err
	}
	content, _ := mcp.AsTextContent(got.Messages[0].Content)
	if content == nil {
		return fmt.Errorf("content is %T, want text", got.Messages[0].Content)
	}
	return contains("prompt", content.Text, "3 days in Lisbon")
}

func (v *visit) completion(ctx context.Context) error {
	request := mcp.CompleteRequest{}
	request.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: "code_review"}
	request.Params.Argument.Name, request.Params.Argument.Value = "language", "Ja"
	got, err := v.client.Complete(ctx, request)
	if err != nil {
		return err
	}
	return equal("values", got.Completion.Values, []string{"Java", "JavaScript"})
}

// await takes notifications until one is of a method.
func (v *visit) await(ctx context.Context, method string) (mcp.JSONRPCNotification, error) {
	for {
		select {
		case n := <-v.told:
			if n.Method == method {
				return n, nil
			}
		case <-ctx.Done():
			return mcp.JSONRPCNotification{}, fmt.Errorf("%s: %w", method, ctx.Err())
		}
	}
}

// countdown calls the tool with a progress token, and returns what tells its end.
func (v *visit) countdown(ctx context.Context, token string, steps, interval int) <-chan error {
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = "countdown", map[string]any{"steps": steps, "interval_ms": interval}
	r.Params.Meta = &mcp.Meta{ProgressToken: token}
	ended := make(chan error, 1)
	go func() {
		got, err := v.client.CallTool(ctx, r)
		if err == nil {
			err = contains("text", text(got), fmt.Sprintf("Counted down %d steps", steps))
		}
		ended <- err
	}()
	return ended
}

// counted checks that the next steps of progress are first to last.
func (v *visit) counted(ctx context.Context, token string, first, last int) error {
	for want := first; want <= last; want++ {
		n, err := v.await(ctx, "notifications/progress")
		if err != nil {
			return err
		}
		got := n.Params.AdditionalFields
		if err := equal("progress", []any{got["progressToken"], got["progress"]}, []any{token, float64(want)}); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) progress(ctx context.Context) error {
	ended := v.countdown(ctx, "counted", 4, 40)
	if err := v.counted(ctx, "counted", 1, 4); err != nil {
		return err
	}
	return <-ended
}

func (v *visit) logging(ctx context.Context) error {
	r := mcp.SetLevelRequest{}
	r.Params.Level = mcp.LoggingLevelInfo
	if err := v.client.SetLevel(ctx, r); err != nil {
		return err
	}
	if _, err := v.call(ctx, "countdown", map[string]any{"steps": 2, "interval_ms": 10}); err != nil {
		return err
	}
	n, err := v.await(ctx, "notifications/message")
	if err != nil {
		return err
	}
	r.Params.Level = mcp.LoggingLevelEmergency
	return errors.Join(equal("level", n.Params.AdditionalFields["level"], "info"), v.client.SetLevel(ctx, r))
}

func (v *visit) listChanged(ctx context.Context) error {
	if _, err := v.call(ctx, "test_trigger_tool_change", nil); err != nil {
		return err
	}
	_, err := v.await(ctx, "notifications/tools/list_changed")
	return err
}

func (v *visit) cancellation(ctx context.Context) error {
	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := v.countdown(cancelled, "cancelled", 100, 30) // over HTTP the call runs on
	if err := v.counted(ctx, "cancelled", 1, 2); err != nil {
		return err
	}
	cancel()
	if err := <-ended; err == nil {
		return errors.New("the cancelled call succeeded")
	}
	_, err := v.call(ctx, "countdown", map[string]any{"steps": 1, "interval_ms": 1})
	for len(v.told) > 0 {
		<-v.told
	}
	return err
}

// drained has the replica end that runs a call; the call ends well, and the next one runs on the other.
func (v *visit) drained(ctx context.Context) error {
	ended := v.countdown(ctx, "drained", 30, 100)
	select { // until its stream is open
	case <-time.After(1500 * time.Millisecond):
	case err := <-ended:
		return fmt.Errorf("it ended before: %w", err)
	}
	if err := post(ctx, v.options.drain); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	_, err := v.call(ctx, "calculator_arithmetic", map[string]any{"expression": "1+1"})
	return err
}

// killed kills the replica that runs a call: the call fails, and the next one succeeds.
func (v *visit) killed(ctx context.Context) error {
	if err := post(ctx, v.options.drain+"/restore"); err != nil {
		return err
	}
	for len(v.told) > 0 {
		<-v.told // of the steps before
	}
	ended := v.countdown(ctx, "killed", 600, 100)
	if err := v.counted(ctx, "killed", 1, 3); err != nil {
		return err
	}
	if err := post(ctx, v.options.drain+"/kill"); err != nil {
		return err
	}
	if err := <-ended; err == nil {
		return errors.New("the call succeeded: name the step for what it shows")
	}
	_, err := v.call(ctx, "calculator_arithmetic", map[string]any{"expression": "1+1"})
	return err
}
