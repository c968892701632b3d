// Package proto carries the contract's .proto files, so that the mcpedge command can write them out
// for teams that generate stubs in their own language.
package proto

import "embed"

// Files holds the tree below proto/, such as mcpedge/v1/tools.proto.
//
//go:embed mcpedge
var Files embed.FS
