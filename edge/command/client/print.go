package client

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// printResult prints the texts of a result, a line for each content of another type, and structured
// content if there is no other content. If whole is true, it prints the result as JSON.
func printResult(out io.Writer, r *mcp.CallToolResult, whole bool) error {
	if whole {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	for _, c := range r.Content {
		var line string
		switch c := c.(type) {
		case *mcp.TextContent:
			line = c.Text
		case *mcp.ImageContent:
			line = fmt.Sprintf("image, %s, %d bytes", c.MIMEType, len(c.Data))
		case *mcp.AudioContent:
			line = fmt.Sprintf("audio, %s, %d bytes", c.MIMEType, len(c.Data))
		case *mcp.ResourceLink:
			line = "resource " + c.URI
		case *mcp.EmbeddedResource:
			if line = c.Resource.Text; line == "" {
				line = fmt.Sprintf("resource %s, %s, %d bytes", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
			}
		default:
			raw, err := json.Marshal(c)
			if err != nil {
				return err
			}
			line = string(raw)
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	if len(r.Content) > 0 || r.StructuredContent == nil {
		return nil
	}
	return json.NewEncoder(out).Encode(r.StructuredContent)
}
