// Package dice is the backend of the example: dice, and the page that shows them.
package dice

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"

	"github.com/mcpedge/mcpedge/capability"
)

// Page is the URI of the page. Its authority is the backend's own, so that no other backend has it.
const Page = "ui://dice/board"

// mimeType is that of pages of MCP Apps.
const mimeType = "text/html;profile=mcp-app"

//go:embed page.html
var page string

type (
	throw struct {
		Dice int `json:"dice" minimum:"1" maximum:"6" default:"2"`
	}
	thrown struct {
		Dice  []int `json:"dice"`
		Total int   `json:"total"`
	}
)

// New makes the backend.
func New() *capability.Server {
	s := capability.New("dice", "1.0.0", capability.WithExtension("io.modelcontextprotocol/ui", `{}`))
	capability.AddTool(s, "roll", "Rolls dice", roll, capability.Title("Roll dice"),
		capability.Meta(`{"ui":{"resourceUri":"`+Page+`"}}`))
	// For the page alone: a host does not show it to its model.
	capability.AddTool(s, "reroll", "Rolls the dice of the page again", roll,
		capability.Meta(`{"ui":{"resourceUri":"`+Page+`","visibility":["app"]}}`))
	// What the page may do stands with its content: it loads nothing, from nowhere.
	const meta = `{"ui":{"csp":{"connectDomains":[],"resourceDomains":[]},"prefersBorder":true}}`
	capability.AddResource(s, &capability.Resource{Uri: Page, Name: "board", Description: "The dice on the table", MimeType: mimeType, MetaJson: meta},
		func(_ context.Context, _ *capability.Call, uri string) (*capability.ResourceContents, error) {
			out := capability.TextContents(uri, mimeType, page)
			out.MetaJson = meta
			return out, nil
		})
	return s
}

// roll has a text for models and for hosts without pages, the structured content for the page, and in `_meta` what the page
// alone is to know.
func roll(_ context.Context, c *capability.Call, in throw) (*capability.Result, error) {
	out := thrown{}
	for range in.Dice {
		n := 1 + rand.IntN(6) // #nosec G404 -- dice, not keys
		out.Dice, out.Total = append(out.Dice, n), out.Total+n
	}
	return &capability.Result{
		Content:    []*capability.Content{capability.Text(fmt.Sprintf("%v: %d in all", out.Dice, out.Total))},
		Structured: out,
		Meta:       fmt.Appendf(nil, `{"dice/faces":%q}`, faces(out.Dice)),
	}, nil
}

// faces are the dice as the page draws them.
func faces(dice []int) (s string) {
	for _, n := range dice {
		s += string(rune('⚀' + n - 1))
	}
	return s
}
