package main

import (
	"context"
	"fmt"
	"io"
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
	if err := post(ctx, v.options.cut); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	return v.counted(ctx, "resumed", 4, 12, 12)
}

// drained has the replica end that runs a call; the call ends well, and the next one runs on the other.
func (v *visit) drained(ctx context.Context) error { return v.ended(ctx, "drained", v.options.drain) }

// killed is the same with a replica that is killed.
func (v *visit) killed(ctx context.Context) error {
	if err := post(ctx, v.options.drain+"/restore"); err != nil {
		return err
	}
	return v.ended(ctx, "killed", v.options.drain+"/kill")
}

// ended ends the replica that runs a call by a POST to an address.
func (v *visit) ended(ctx context.Context, token, address string) error {
	p := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"steps": 30, "interval_ms": 100}}
	p.SetProgressToken(token)
	ended := make(chan error, 1)
	go func() {
		_, err := v.session.CallTool(ctx, p)
		ended <- err
	}()
	if err := v.counted(ctx, token, 1, 3, 30); err != nil {
		return err
	}
	if err := post(ctx, address); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	if err := v.counted(ctx, token, 4, 30, 30); err != nil {
		return err
	}
	_, _, err := v.call(ctx, "calculator_arithmetic", map[string]any{"expression": "1+1"})
	return err
}

// post posts nothing to a control address.
func post(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body) // the status is reported in any case
		return fmt.Errorf("%s: %s: %s", url, resp.Status, text)
	}
	return nil
}
