package server

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/capability"
)

// dialectSchema has the keywords that must reach the client unchanged, in the suite's order.
const dialectSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},` +
	`"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},` +
	`"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

type regionInput struct {
	Region string `json:"region" header:"Region" description:"Goes into the header Mcp-Param-Region too"`
}

func addSchemas(s *capability.Server) {
	capability.AddRawTool(s, &capability.Tool{
		Name: "json_schema_2020_12_tool", Description: "Has an input schema with keywords of JSON Schema 2020-12",
		InputSchemaJson: dialectSchema,
		Annotations: &capability.ToolAnnotations{ReadOnly: proto.Bool(true), Idempotent: proto.Bool(true),
			Destructive: proto.Bool(false), OpenWorld: proto.Bool(false)},
	}, func(_ context.Context, _ *capability.Call, arguments json.RawMessage) (*capability.Result, error) {
		return &capability.Result{Content: []*capability.Content{capability.Text("Called with " + string(arguments))}}, nil
	})
	capability.AddTool(s, "test_x_mcp_header", "Has an argument that travels in a header as well",
		func(_ context.Context, _ *capability.Call, in regionInput) (string, error) {
			return "region=" + in.Region, nil
		}, plain()...)
}
