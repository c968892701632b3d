package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lists walks through all pages of every list.
func (v *visit) lists(ctx context.Context) error {
	return errors.Join(
		lists("tools", v.session.Tools(ctx, nil), func(x *mcp.Tool) string { return x.Name }, "countdown"),
		lists("resources", v.session.Resources(ctx, nil), func(x *mcp.Resource) string { return x.Name }, "note.txt"),
		lists("templates", v.session.ResourceTemplates(ctx, nil), func(x *mcp.ResourceTemplate) string { return x.Name }, "weather-forecast"),
		lists("prompts", v.session.Prompts(ctx, nil), func(x *mcp.Prompt) string { return x.Name }, "plan-vacation"),
	)
}

// lists is an error unless want is among the names, which are all different.
func lists[T any](kind string, entries iter.Seq2[T, error], name func(T) string, want string) error {
	var names []string
	for x, err := range entries {
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if slices.Contains(names, name(x)) {
			return fmt.Errorf("%s: %s comes twice", kind, name(x))
		}
		names = append(names, name(x))
	}
	if !slices.Contains(names, want) {
		return fmt.Errorf("%s lack %s: %v", kind, want, names)
	}
	return nil
}
