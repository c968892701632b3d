package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// call calls a tool that must succeed and returns its text too.
func (v *visit) call(ctx context.Context, tool string, arguments map[string]any) (*mcp.CallToolResult, string, error) {
	res, err := v.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", tool, err)
	}
	text, err := firstText(res)
	if err == nil && res.IsError {
		err = fmt.Errorf("%s failed: %s", tool, text)
	}
	return res, text, err
}

func firstText(res *mcp.CallToolResult) (string, error) {
	if len(res.Content) == 0 {
		return "", errors.New("no content")
	}
	block, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return "", fmt.Errorf("content is %T, want text", res.Content[0])
	}
	return block.Text, nil
}

// contains is an error unless text has the part.
func contains(what, text, part string) error {
	if strings.Contains(text, part) {
		return nil
	}
	return fmt.Errorf("%s: expected something with %q, got %q", what, part, text)
}

func (v *visit) structured(ctx context.Context) error {
	res, text, err := v.call(ctx, "calculator_arithmetic", map[string]any{"expression": "2 * (3 + 4)^2"})
	if err != nil {
		return err
	}
	var want any
	if v.version >= "2025-06-18" { // has structured content
		want = map[string]any{"result": 98.0, "expression": "2 * (3 + 4)^2"}
	}
	return errors.Join(equal("text", text, "98"), equal("structured content", res.StructuredContent, want))
}

func (v *visit) mistakes(ctx context.Context) error {
	res, err := v.session.CallTool(ctx, &mcp.CallToolParams{Name: "calculator_arithmetic", Arguments: map[string]any{"expression": "1/0"}})
	if err != nil {
		return err
	}
	text, err := firstText(res)
	if err != nil {
		return err
	}
	_, err = v.session.CallTool(ctx, &mcp.CallToolParams{Name: "no_such_tool"})
	return errors.Join(
		equal("isError", res.IsError, true), contains("text", text, "division by zero"),
		code("unknown tool", err, jsonrpc.CodeInvalidParams),
	)
}

// code is an error unless err is a JSON-RPC error of the code.
func code(what string, err error, want int64) error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: expected the error %d, got %v", what, want, err)
	}
	return equal(what, e.Code, want)
}
