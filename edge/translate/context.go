package translate

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Context returns the description of the request for a backend. It never contains the token, and
// only those members of the client's `_meta` that the edge does not consume. The principal's claims
// are not in it, because they depend on the backend. The error is currently always nil.
func Context(call *mcp.Call) (*pb.RequestContext, error) {
	return new(requestContext).fill(call), nil
}

// requestContext keeps the parts of a RequestContext in one allocation.
type requestContext struct {
	context      pb.RequestContext
	principal    pb.Principal
	client       pb.Implementation
	capabilities pb.ClientCapabilities
	elicitation  pb.ElicitationCapability
	sampling     pb.SamplingCapability
	roots        pb.RootsCapability
}

func (b *requestContext) fill(call *mcp.Call) *pb.RequestContext {
	b.principal.Subject = call.Principal.Subject
	b.principal.Issuer = call.Principal.Issuer
	b.principal.Scopes = call.Principal.Scopes
	b.principal.Roles = call.Principal.Roles
	b.principal.ClientId = call.Principal.Client
	b.principal.Actor = call.Principal.Actor
	b.principal.SubjectIsClient = call.Principal.SubjectIsClient
	c := &b.context
	c.CallId = call.ID
	c.Attempt = uint32(call.Attempt) // #nosec G115 -- bounded by calls.rounds and the constant Attempts
	c.Round = uint32(call.Round)     // #nosec G115 -- bounded by calls.rounds
	c.Principal = &b.principal
	if jsonrpc.TypeOf(call.Client.Info) == jsonrpc.Object {
		readImplementation(&b.client, call.Client.Info)
		c.ClientInfo = &b.client
	}
	c.ClientCapabilities = b.fillCapabilities(&call.Client.Capabilities)
	c.LogLevel = pb.LogLevel(call.LogLevel)
	c.ProgressWanted = len(call.Params.Meta.ProgressToken) > 0
	c.MetaJson = clientMeta(&call.Params.Meta)
	c.Checkpoints = call.Method == mcp.MethodToolsCall
	if call.Task != nil {
		c.Task = &pb.TaskContext{Id: call.Task.ID}
	}
	return c
}

// readImplementation reads the client's description of itself. It is only informative, so members
// of a wrong type count as absent.
func readImplementation(out *pb.Implementation, raw json.RawMessage) {
	_ = jsonrpc.Members(raw, func(key []byte, value json.RawMessage) error {
		switch string(key) {
		case "name":
			out.Name, _ = jsonrpc.Unquote(value)
		case "version":
			out.Version, _ = jsonrpc.Unquote(value)
		case "title":
			out.Title, _ = jsonrpc.Unquote(value)
		case "description":
			out.Description, _ = jsonrpc.Unquote(value)
		case "websiteUrl":
			out.WebsiteUrl, _ = jsonrpc.Unquote(value)
		case "icons":
			out.Icons = readIcons(value)
		}
		return nil
	})
}

func readIcons(raw json.RawMessage) []*pb.Icon {
	var icons []*pb.Icon
	_ = jsonrpc.Elements(raw, func(value json.RawMessage) bool {
		icon := &pb.Icon{}
		_ = jsonrpc.Members(value, func(key []byte, value json.RawMessage) error {
			switch string(key) {
			case "src":
				icon.Src, _ = jsonrpc.Unquote(value)
			case "mimeType":
				icon.MimeType, _ = jsonrpc.Unquote(value)
			case "theme":
				icon.Theme, _ = jsonrpc.Unquote(value)
			case "sizes":
				_ = jsonrpc.Elements(value, func(size json.RawMessage) bool {
					if s, ok := jsonrpc.Unquote(size); ok {
						icon.Sizes = append(icon.Sizes, s)
					}
					return true
				})
			}
			return nil
		})
		if icon.Src != "" {
			icons = append(icons, icon)
		}
		return true
	})
	return icons
}

// fillCapabilities converts the flags, and reads only the other capabilities from the raw object.
func (b *requestContext) fillCapabilities(c *mcp.Capabilities) *pb.ClientCapabilities {
	out := &b.capabilities
	if c.ElicitForm || c.ElicitURL {
		b.elicitation.Form, b.elicitation.Url = c.ElicitForm, c.ElicitURL
		out.Elicitation = &b.elicitation
	}
	if c.Sampling {
		b.sampling.Context, b.sampling.Tools = c.SamplingCtx, c.SamplingTools
		out.Sampling = &b.sampling
	}
	if c.Roots {
		b.roots.ListChanged = c.RootsChanged
		out.Roots = &b.roots
	}
	if len(c.Raw) <= len("{}") {
		return out
	}
	var extra []byte
	_ = jsonrpc.Members(c.Raw, func(key []byte, value json.RawMessage) error {
		switch string(key) {
		case "elicitation":
			b.elicitation.ExtraJson = others(value, "form", "url")
		case "sampling":
			b.sampling.ExtraJson = others(value, "tools", "context")
		case "roots":
			b.roots.ExtraJson = others(value, "listChanged", "")
		case "extensions":
			out.ExtensionsJson = readExtensions(value)
		default:
			extra = appendMember(extra, key, value)
		}
		return nil
	})
	out.ExtraJson = objectOf(extra)
	return out
}

// readExtensions reads settings by id. Settings that are not objects are left out.
func readExtensions(raw json.RawMessage) map[string]string {
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return nil
	}
	var out map[string]string
	_ = jsonrpc.Members(raw, func(id string, value json.RawMessage) error {
		if jsonrpc.TypeOf(value) == jsonrpc.Object {
			if out == nil {
				out = make(map[string]string)
			}
			out[id] = string(value)
		}
		return nil
	})
	return out
}

// others returns an object of the members not named a or b. It is empty if there are none.
func others(raw json.RawMessage, a, b string) string {
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return ""
	}
	var out []byte
	_ = jsonrpc.Members(raw, func(key []byte, value json.RawMessage) error {
		if string(key) != a && string(key) != b {
			out = appendMember(out, key, value)
		}
		return nil
	})
	return objectOf(out)
}

// clientMeta returns the client's `_meta` without what the edge consumed. It is empty if nothing
// remains.
func clientMeta(meta *mcp.Meta) string {
	if !meta.IsPassedOn {
		return ""
	}
	raw, consumed := meta.Raw, 0
	_ = jsonrpc.Members(raw, func(key []byte, _ json.RawMessage) error {
		if isConsumed(key) {
			consumed++
		}
		return nil
	})
	if consumed == 0 {
		return string(raw)
	}
	return objectOf(appendMembers(make([]byte, 0, len(raw)), raw, isConsumed))
}

func isConsumed(key []byte) bool {
	switch string(key) {
	case "progressToken", mcp.MetaVersion, mcp.MetaClientInfo, mcp.MetaCapabilities, mcp.MetaLogLevel:
		return true
	}
	return false
}

// objectOf is the object of members that were each appended after a comma; empty if there are none.
func objectOf(members []byte) string {
	if len(members) == 0 {
		return ""
	}
	return string(closeObject(members, 0))
}
