// Package hook serves hooks: servers that an MCP Edge calls to check requests before they reach a
// backend, and the results of backends, by the contract mcpedge.hook.v1. A hook changes its
// argument in place, or denies it:
//
//	err := hook.Serve(ctx, ":9000", hook.Hook{
//		Result: func(_ context.Context, _ *hook.Call, out *hook.Outcome) error {
//			hook.MapTexts(out, func(text string) string { return cards.ReplaceAllString(text, "****") })
//			return nil
//		},
//	})
package hook
