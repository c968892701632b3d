package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

var clientNameAttacks = []attack{
	{name: "client-names", what: "a client of 200 names that write into the terminal of who reads /metrics", run: withPolicy("", evilNames)},
}

// evilNames has one caller take as many names as it can, and then another one come with its own.
func evilNames(ctx context.Context, s *site, r *ruled) error {
	greedy, honest := r.as(s, map[string]any{"sub": "greedy"}), r.as(s, map[string]any{"sub": "honest"})
	defer greedy.close()
	defer honest.close()
	list := func(c *rogue, name string) error {
		info := `,"io.modelcontextprotocol/clientInfo":{"name":"` + name + `","version":"1"}`
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"_meta":%s}}`, c.next.Add(1), meta(info))
		a, err := c.send(ctx, http.MethodPost, body, modernHeader("tools/list", "")...)
		if err == nil && a.status != http.StatusOK {
			err = fmt.Errorf("status %d: %.200s", a.status, a.body)
		}
		return err
	}
	for i := range 200 {
		if err := list(greedy, fmt.Sprintf(`greedy%d\u001b[2J\u202e\u009b%s`, i, strings.Repeat("x", 100))); err != nil {
			return err
		}
	}
	if err := list(honest, "friend"); err != nil {
		return err
	}
	a, err := r.admin(ctx, http.MethodGet, "/metrics", r.lock.Token("olga", r.url(), map[string]any{"scope": "mcp:operate"}))
	if err != nil {
		return err
	}
	text := string(a.body)
	for line := range strings.Lines(text) {
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), mcp.IsControl) {
			return fmt.Errorf("/metrics has control characters: %q", line)
		}
	}
	if !strings.Contains(text, `mcpedge_client_name="friend"`) {
		return fmt.Errorf("an honest client has no name in /metrics beside one of %d names", strings.Count(text, `mcpedge_client_name="greedy`)/2)
	}
	return nil
}
