package translate

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// readRoots reads a ListRootsResult (Client Features, "Roots").
func readRoots(raw json.RawMessage) (*pb.ListRootsResult, bool) {
	out := &pb.ListRootsResult{}
	list, _ := jsonrpc.Member(raw, "roots")
	ok := jsonrpc.Elements(list, func(value json.RawMessage) bool {
		root := &pb.Root{}
		out.Roots = append(out.Roots, root)
		fits := object(value, func(key []byte, value json.RawMessage) bool {
			switch string(key) {
			case "uri":
				return text(&root.Uri, value)
			case "name":
				return text(&root.Name, value)
			case "_meta":
				return rawObject(&root.MetaJson, value)
			}
			return true
		})
		return fits && root.Uri != ""
	})
	return out, ok
}
