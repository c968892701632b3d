package dispatch

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Keys of the gRPC metadata of every RPC that runs a round. With them a mesh can route and
// authorize without reading bodies.
const (
	// MetadataMethod carries the MCP method.
	MetadataMethod = "mcp-method"
	// MetadataName carries the backend's own name of the tool or prompt, the resource's URI, or the
	// URI template. Outside printable ASCII it is in MCP's base64 sentinel. A value beyond 1 KiB is
	// omitted, not truncated: a prefix may be the name of another object.
	MetadataName = "mcp-name"
)

const maxMetadataName = 1 << 10

// withMetadata adds these keys, the trace context, the pair key and value if key is not empty, and
// the pairs of more.
func withMetadata(ctx context.Context, t *telemetry.Telemetry, call *mcp.Call, name, key, value string, more []string) context.Context {
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
	return metadata.AppendToOutgoingContext(ctx, append(pairs, more...)...)
}

// maxHeaders bounds the names and values of the headers that one call forwards, in bytes.
const maxHeaders = 8 << 10

// appendHeaders appends the headers of the client's request that are forwarded to a backend, by
// their canonical names: those that gRPC metadata can represent, up to maxHeaders bytes.
func appendHeaders(pairs, names []string, header map[string][]string) []string {
	left := maxHeaders
	for _, name := range names {
		for _, value := range header[name] {
			if left -= len(name) + len(value); left < 0 {
				return pairs
			}
			if value != "" && mcp.NotMetadataValue(value) == "" {
				pairs = append(pairs, strings.ToLower(name), value)
			}
		}
	}
	return pairs
}
