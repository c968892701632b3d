package catalog

import "github.com/mcpedge/mcpedge/edge/mcp"

// problem is why something of a backend is hidden or doubtful.
type problem struct{ backend, text string }

// Problems returns one sentence for each problem of a backend: a tool or prompt that is hidden
// because the overlay's changes of its arguments are impossible, a template whose variables cannot be pinned, a tool that differs from the lock,
// and an entry that restricts something and matches nothing. It ignores private lists.
func (c *Catalog) Problems(backend string) (out []string) {
	v := c.views.Shared.Load()
	for _, all := range [][]problem{v.Tools.problems, v.Prompts.problems, v.Resources.problems, v.lockDiffs.all(), v.unmatched} {
		for _, p := range all {
			if p.backend == backend {
				out = append(out, mcp.ClipText(p.text))
			}
		}
	}
	return out
}
