package server

import (
	"context"
	"embed"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

//go:embed docs/*.md
var documents embed.FS

// documentPrefix is the prefix of the URIs of the bundled documents.
const documentPrefix = "docs://mcpedge/"

func addDocuments(s *capability.Server) {
	entries, err := documents.ReadDir("docs")
	if err != nil {
		panic(err) // the embedded directory cannot be missing
	}
	for _, e := range entries {
		data, err := documents.ReadFile("docs/" + e.Name())
		if err != nil {
			panic(err)
		}
		text := string(data)
		heading, _, _ := strings.Cut(text, "\n")
		size := int64(len(data))
		capability.AddResource(s, &capability.Resource{
			Uri: documentPrefix + e.Name(), Name: e.Name(), Title: strings.TrimLeft(heading, "# "),
			Description: "A bundled document.", MimeType: "text/markdown", Size: &size,
		}, func(_ context.Context, c *capability.Call, _ string) (string, error) {
			c.SetCache(time.Hour, true)
			return text, nil
		})
	}
}
