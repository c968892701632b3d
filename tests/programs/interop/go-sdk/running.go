//lint:file-ignore SA1019 Logging is served for as long as the protocol has it.

package main

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// counted checks that the next steps of progress are first to last of total, for token.
func (v *visit) counted(ctx context.Context, token string, first, last, total float64) error {
	for want := first; want <= last; want++ {
		got, err := next(ctx, "progress", v.progress)
		if err != nil {
			return err
		}
		if err := equal("progress", []any{got.ProgressToken, got.Progress, got.Total}, []any{token, want, total}); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) eventful(ctx context.Context) error {
	p := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"steps": 3, "interval_ms": 1}}
	if v.modern() {
		p.Meta = mcp.Meta{"io.modelcontextprotocol/logLevel": "info"}
	} else if err := v.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		return err
	}
	p.SetProgressToken("eventful")
	if _, err := v.session.CallTool(ctx, p); err != nil {
		return err
	}
	if err := v.counted(ctx, "eventful", 1, 3, 3); err != nil {
		return err
	}
	for range 3 {
		got, err := next(ctx, "log message", v.logs)
		if err != nil {
			return err
		}
		if err := equal("log message", []string{string(got.Level), got.Logger}, []string{"info", "countdown"}); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) cancellation(ctx context.Context) error {
	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"steps": 1000, "interval_ms": 100}}
	p.SetProgressToken("cancelled")
	ended := make(chan error, 1)
	go func() {
		_, err := v.session.CallTool(cancelled, p)
		ended <- err
	}()
	if err := v.counted(ctx, "cancelled", 1, 2, 1000); err != nil {
		return err
	}
	cancel()
	switch err := <-ended; { // the SDK returns when the context ends
	case err == nil:
		return errors.New("the cancelled call succeeded")
	case ctx.Err() != nil:
		return err
	}
	// Time in which the cancelled call would have gone on.
	if _, _, err := v.call(ctx, "countdown", map[string]any{"steps": 4, "interval_ms": 100}); err != nil {
		return err
	}
	late := len(v.progress) // one may have been on its way
	for range late {
		<-v.progress
	}
	if late > 1 {
		return errors.New("the cancelled call went on")
	}
	return nil
}
