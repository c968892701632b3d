package main

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resume breaks the connections under a call; the SDK takes its stream up again.
func (v *visit) resume(ctx context.Context) error {
	p := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"steps": 12, "interval_ms": 60}}
	p.SetProgressToken("resumed")
	ended := make(chan error, 1)
	go func() {
		_, err := v.session.CallTool(ctx, p)
		ended <- err
	}()
	if err := v.counted(ctx, "resumed", 1, 3, 12); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.options.cut, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	return v.counted(ctx, "resumed", 4, 12, 12)
}
