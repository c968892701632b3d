package dispatch

import (
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/schema/portable"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// shown is a tool as tools/list shows it, with the schema of its arguments in the form that clients and
// model interfaces take. Calls go on by the tool as the backend lists it.
func shown(t *pb.Tool) *pb.Tool {
	result := portable.Schema(t.GetInputSchemaJson())
	if result.JSON == t.GetInputSchemaJson() && len(result.Notes) == 0 {
		return t
	}
	out := proto.CloneOf(t)
	out.InputSchemaJson = result.JSON
	out.Description = result.Describe(t.GetDescription())
	return out
}
