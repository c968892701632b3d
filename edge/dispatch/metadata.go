package dispatch

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Keys of the gRPC metadata that comes with every unit of work, so that a mesh can route and authorize
// without reading bodies.
const (
	// MetadataMethod carries the MCP method.
	MetadataMethod = "mcp-method"
	// MetadataName carries the backend's own name of the tool or prompt, the resource's URI, or the
	// URI template. Outside printable ASCII it is in MCP's base64 sentinel. A value beyond 1 KiB is left
	// out, never cut: a prefix may be another thing's name.
	MetadataName = "mcp-name"
)

const maxMetadataName = 1 << 10

// withMetadata adds them, the trace context and, if key is not empty, one more pair.
func withMetadata(ctx context.Context, t *telemetry.Telemetry, call *mcp.Call, name, key, value string) context.Context {
	var space [12]string
	pairs := t.AppendMetadata(append(space[:0], MetadataMethod, string(call.Method)), ctx, &call.Params.Meta)
	if len(name) <= maxMetadataName {
		if text := mcp.EncodeHeader(name); len(text) <= maxMetadataName {
			pairs = append(pairs, MetadataName, text)
		}
	}
	if key != "" {
		pairs = append(pairs, key, value)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}
