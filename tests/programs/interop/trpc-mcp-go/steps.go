package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	mcp "trpc.group/trpc-go/trpc-mcp-go"
)

// call calls a tool that must succeed.
func (v *visit) call(ctx context.Context, name string, arguments map[string]any) (*mcp.CallToolResult, error) {
	got, err := v.client.CallTool(ctx, request(name, arguments))
	if err == nil && got.IsError {
		err = errors.New(name + " failed: " + text(got))
	}
	return got, err
}

func request(name string, arguments map[string]any) *mcp.CallToolRequest {
	r := &mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = name, arguments
	return r
}

// walk reads all pages of a list.
func walk(page func(cursor mcp.Cursor) ([]string, mcp.Cursor, error)) ([]string, error) {
	var all []string
	var cursor mcp.Cursor
	for {
		names, next, err := page(cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
		if next == "" {
			return all, nil
		}
		cursor = next
	}
}

func (v *visit) tools(ctx context.Context) error {
	names, err := walk(func(cursor mcp.Cursor) (names []string, next mcp.Cursor, _ error) {
		r := &mcp.ListToolsRequest{}
		r.Params.Cursor = cursor
		got, err := v.client.ListTools(ctx, r)
		if err != nil {
			return nil, "", err
		}
		for _, t := range got.Tools {
			names = append(names, t.Name)
		}
		return names, got.NextCursor, nil
	})
	if err != nil {
		return err
	}
	for _, want := range []string{"calculator_arithmetic", "book_trip", "countdown"} {
		if !slices.Contains(names, want) {
			return fmt.Errorf("names lack %s: %v", want, names)
		}
	}
	return nil
}

func (v *visit) calls(ctx context.Context) error {
	got, err := v.call(ctx, "calculator_arithmetic", map[string]any{"expression": "2*(3+4)^2"})
	if err != nil {
		return err
	}
	return equal("text", text(got), "98")
}

func (v *visit) structured(ctx context.Context) error {
	got, err := v.call(ctx, "calculator_arithmetic", map[string]any{"expression": "2*(3+4)^2"})
	if err != nil {
		return err
	}
	return equal("structured content", got.StructuredContent, map[string]any{"result": 98.0, "expression": "2*(3+4)^2"})
}

func (v *visit) mistakes(ctx context.Context) error {
	got, err := v.client.CallTool(ctx, request("calculator_arithmetic", map[string]any{"expression": "1/0"}))
	if err != nil {
		return err
	}
	if err := errors.Join(equal("isError", got.IsError, true), contains("text", text(got), "division by zero")); err != nil {
		return err
	}
	if _, err = v.client.CallTool(ctx, request("no_such_tool", nil)); err == nil {
		return errors.New("an unknown tool was called")
	}
	return contains("error", err.Error(), "no_such_tool")
}

// asking calls a tool that asks the user, whom the client did not declare.
func (v *visit) asking(ctx context.Context) error {
	got, err := v.client.CallTool(ctx, request("book_trip", map[string]any{"destination": "Lisbon", "nights": 2}))
	if err != nil {
		return contains("error", err.Error(), "elicitation")
	}
	return errors.Join(equal("isError", got.IsError, true), contains("text", text(got), "elicitation"))
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

func (v *visit) roots(ctx context.Context) error {
	got, err := v.call(ctx, "list_workspace", nil)
	if err != nil {
		return err
	}
	return contains("text", text(got), "file:///project/a")
}

func (v *visit) resources(ctx context.Context) error {
	names, err := walk(func(cursor mcp.Cursor) (names []string, next mcp.Cursor, _ error) {
		r := &mcp.ListResourcesRequest{}
		r.Params.Cursor = cursor
		got, err := v.client.ListResources(ctx, r)
		if err != nil {
			return nil, "", err
		}
		for _, r := range got.Resources {
			names = append(names, r.Name)
		}
		return names, got.NextCursor, nil
	})
	if err != nil {
		return err
	}
	if !slices.Contains(names, "note.txt") {
		return fmt.Errorf("resources lack note.txt: %v", names)
	}
	r := &mcp.ReadResourceRequest{}
	if r.Params.URI, err = v.file("note.txt"); err != nil {
		return err
	}
	got, err := v.client.ReadResource(ctx, r)
	if err != nil {
		return err
	}
	if len(got.Contents) != 1 {
		return fmt.Errorf("%d contents, want 1", len(got.Contents))
	}
	content, ok := got.Contents[0].(mcp.TextResourceContents)
	if !ok {
		return fmt.Errorf("content is %T, want text", got.Contents[0])
	}
	return equal("text", content.Text, "first\n")
}

func (v *visit) prompts(ctx context.Context) error {
	names, err := walk(func(cursor mcp.Cursor) (names []string, next mcp.Cursor, _ error) {
		r := &mcp.ListPromptsRequest{}
		r.Params.Cursor = cursor
		got, err := v.client.ListPrompts(ctx, r)
		if err != nil {
			return nil, "", err
		}
		for _, p := range got.Prompts {
			names = append(names, p.Name)
		}
		return names, got.NextCursor, nil
	})
	if err != nil {
		return err
	}
	if !slices.Contains(names, "plan-vacation") {
		return fmt.Errorf("prompts lack plan-vacation: %v", names)
	}
	r := &mcp.GetPromptRequest{}
	r.Params.Name, r.Params.Arguments = "plan-vacation", map[string]string{"destination": "Lisbon", "days": "3"}
	got, err := v.client.GetPrompt(ctx, r)
	if err != nil {
		return err
	}
	content, ok := got.Messages[0].Content.(mcp.TextContent)
	if !ok {
		return fmt.Errorf("content is %T, want text", got.Messages[0].Content)
	}
	return contains("prompt", content.Text, "3 days in Lisbon")
}

// await takes notifications until one is of a method.
func (v *visit) await(ctx context.Context, method string) (*mcp.JSONRPCNotification, error) {
	for {
		select {
		case n := <-v.told:
			if n.Method == method {
				return n, nil
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", method, ctx.Err())
		}
	}
}

// countdown calls the tool with a progress token, and returns what tells its end.
func (v *visit) countdown(ctx context.Context, token string, steps, interval int) <-chan error {
	r := request("countdown", map[string]any{"steps": steps, "interval_ms": interval})
	r.Params.Meta = &struct {
		ProgressToken mcp.ProgressToken `json:"progressToken,omitempty"`
	}{token}
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

func (v *visit) listChanged(ctx context.Context) error {
	if _, err := v.call(ctx, "test_trigger_tool_change", nil); err != nil {
		return err
	}
	_, err := v.await(ctx, "notifications/tools/list_changed")
	return err
}

// cancellation closes the connection, which is one in this era.
func (v *visit) cancellation(ctx context.Context) error {
	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := v.countdown(cancelled, "cancelled", 1000, 30)
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

func (v *visit) tasks(ctx context.Context) error {
	got, err := v.tasking.CallTool(ctx, request("slow_compute", map[string]any{"seconds": 0.5, "label": "v"}))
	if err != nil {
		return err
	}
	return contains("text", text(got), "v was computed")
}

func (v *visit) failingTask(ctx context.Context) error {
	got, err := v.tasking.CallTool(ctx, request("failing_job", nil))
	if err != nil {
		return contains("error", err.Error(), "the job failed")
	}
	return errors.Join(equal("isError", got.IsError, true), contains("text", text(got), "the job failed"))
}

// drained has the replica end that runs a call; the call ends well, and the next one runs on the other.
func (v *visit) drained(ctx context.Context) error {
	if err := post(ctx, v.options.drain+"/restore"); err != nil {
		return err
	}
	ended := v.countdown(ctx, "drained", 30, 100)
	if err := v.counted(ctx, "drained", 1, 3); err != nil {
		return err
	}
	if err := post(ctx, v.options.drain); err != nil {
		return err
	}
	if err := v.counted(ctx, "drained", 4, 30); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	_, err := v.call(ctx, "calculator_arithmetic", map[string]any{"expression": "1+1"})
	return err
}

// killed kills the replica that runs a call: the call ends with an error, and the next one succeeds.
func (v *visit) killed(ctx context.Context) error {
	if err := post(ctx, v.options.drain+"/restore"); err != nil {
		return err
	}
	ended := v.countdown(ctx, "killed", 30, 100)
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
