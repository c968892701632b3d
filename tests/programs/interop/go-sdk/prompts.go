package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (v *visit) prompt(ctx context.Context) error {
	res, err := v.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "plan-vacation", Arguments: map[string]string{"destination": "Lisbon", "days": "3"}})
	if err != nil {
		return err
	}
	if len(res.Messages) != 1 {
		return fmt.Errorf("%d messages, want 1", len(res.Messages))
	}
	block, ok := res.Messages[0].Content.(*mcp.TextContent)
	if !ok {
		return fmt.Errorf("content is %T, want text", res.Messages[0].Content)
	}
	return contains("prompt", block.Text, "3 days in Lisbon")
}
