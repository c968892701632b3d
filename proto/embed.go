// Package proto carries the contract's .proto files, so that the mcpedge command can write them out
// for teams that generate stubs in their own language.
package proto

import "embed"

// Files holds what of the tree below proto/ backends and hooks are about, such as mcpedge/v1/tools.proto. The API of
// the admin address is spoken as REST, and described by its OpenAPI document.
//
//go:embed mcpedge/v1 mcpedge/hook mcpedge/options
var Files embed.FS
