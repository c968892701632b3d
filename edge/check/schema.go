package check

import (
	"fmt"

	"github.com/mcpedge/mcpedge/edge/schema"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// schemas compiles the tools' schemas. It returns the tools whose arguments the edge does not
// validate: unusable, because the schema does not compile, and multiplying, because validation
// would take too long.
func schemas(tools []*pb.Tool) (unusable, multiplying []string) {
	for _, t := range tools {
		for _, s := range [...]struct{ field, text string }{
			{"input_schema_json", t.InputSchemaJson}, {"output_schema_json", t.OutputSchemaJson},
		} {
			if s.text == "" {
				continue
			}
			compiled, err := schema.Compile(s.text)
			switch {
			case err != nil:
				unusable = append(unusable, fmt.Sprintf("Tool %.80q goes unvalidated: %s: %v", t.Name, s.field, err))
			case compiled.Multiplies():
				multiplying = append(multiplying, fmt.Sprintf(
					"Tool %.80q: %s multiplies: what would apply its parts more than %d times goes unvalidated; have fewer of them apply to the same value",
					t.Name, s.field, schema.MaxValues))
			}
		}
	}
	return unusable, multiplying
}
