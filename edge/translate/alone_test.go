package translate

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// toolResult and readResult return the JSON of a result without an envelope.
func toolResult(r *revision.Rules, s *Server, res *pb.CallToolResult) (json.RawMessage, error) {
	reply, err := ToolResult(r, s, mcp.Envelope{}, res)
	return reply.Result, err
}

func readResult(r *revision.Rules, s *Server, res *pb.ReadResourceResult) (json.RawMessage, error) {
	reply, err := ReadResult(r, s, mcp.Envelope{}, res)
	return reply.Result, err
}
