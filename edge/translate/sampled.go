package translate

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// readCreateMessage reads a CreateMessageResult. Content is one block or an array of them.
func readCreateMessage(raw json.RawMessage) (*pb.CreateMessageResult, bool) {
	out := &pb.CreateMessageResult{}
	var hasModel bool
	ok := object(raw, func(key []byte, value json.RawMessage) bool {
		switch string(key) {
		case "role":
			return readRole(&out.Role, value)
		case "model":
			hasModel = true
			return text(&out.Model, value)
		case "stopReason":
			return text(&out.StopReason, value)
		case "_meta":
			return rawObject(&out.MetaJson, value)
		case "content":
			return readSamplingContents(out, value)
		}
		return true
	})
	return out, ok && hasModel && out.Role != pb.Role_ROLE_UNSPECIFIED && len(out.Content) > 0
}

func readSamplingContents(out *pb.CreateMessageResult, raw json.RawMessage) bool {
	add := func(value json.RawMessage) bool {
		block, ok := readSamplingContent(value)
		out.Content = append(out.Content, block)
		return ok
	}
	if jsonrpc.TypeOf(raw) == jsonrpc.Object {
		return add(raw)
	}
	return jsonrpc.Elements(raw, add)
}

// block is the union of the members of all kinds of content.
type block struct {
	kind, text, mimeType, id, name, input, toolUseID, structured, meta string
	data                                                               []byte
	isError, hasText, hasData, hasContent                              bool
	content, resource                                                  json.RawMessage
	annotations                                                        *pb.Annotations
}

// readBlock parses a content block. Its users ignore members that the block's kind lacks.
func readBlock(raw json.RawMessage) (*block, bool) {
	b := &block{}
	ok := object(raw, func(key []byte, value json.RawMessage) (fits bool) {
		switch string(key) {
		case "type":
			return text(&b.kind, value)
		case "text":
			b.hasText = true
			return text(&b.text, value)
		case "data":
			b.hasData = true
			return binary(&b.data, value)
		case "mimeType":
			return text(&b.mimeType, value)
		case "id":
			return text(&b.id, value)
		case "name":
			return text(&b.name, value)
		case "input":
			return rawObject(&b.input, value)
		case "toolUseId":
			return text(&b.toolUseID, value)
		case "structuredContent":
			b.structured = string(value)
		case "isError":
			return flag(&b.isError, value)
		case "content":
			b.content, b.hasContent = value, true
		case "resource":
			b.resource = value
		case "_meta":
			return rawObject(&b.meta, value)
		case "annotations":
			b.annotations, fits = readAnnotations(value)
			return fits
		}
		return true
	})
	return b, ok && b.kind != ""
}

// rawKind reports whether a block has a type that the contract does not type, so that the block is
// kept as raw JSON. It returns false if raw is not a block.
func rawKind(raw json.RawMessage, known ...string) bool {
	value, _ := jsonrpc.Member(raw, "type")
	kind, ok := jsonrpc.Unquote(value)
	if !ok || kind == "" {
		return false
	}
	for _, k := range known {
		if k == kind {
			return false
		}
	}
	return true
}

func readSamplingContent(raw json.RawMessage) (*pb.SamplingContent, bool) {
	if rawKind(raw, "text", "image", "audio", "tool_use", "tool_result") {
		return &pb.SamplingContent{Content: &pb.SamplingContent_RawJson{RawJson: string(raw)}}, true
	}
	b, ok := readBlock(raw)
	if !ok {
		return nil, false
	}
	out := &pb.SamplingContent{Annotations: b.annotations, MetaJson: b.meta}
	switch b.kind {
	case "text":
		out.Content = &pb.SamplingContent_Text{Text: &pb.TextContent{Text: b.text}}
		return out, b.hasText
	case "image":
		out.Content = &pb.SamplingContent_Image{Image: &pb.ImageContent{Data: b.data, MimeType: b.mimeType}}
		return out, b.hasData && b.mimeType != ""
	case "audio":
		out.Content = &pb.SamplingContent_Audio{Audio: &pb.AudioContent{Data: b.data, MimeType: b.mimeType}}
		return out, b.hasData && b.mimeType != ""
	case "tool_use":
		out.Content = &pb.SamplingContent_ToolUse{ToolUse: &pb.ToolUse{Id: b.id, Name: b.name, InputJson: b.input}}
		return out, b.id != "" && b.name != "" && b.input != ""
	}
	result := &pb.ToolResult{ToolUseId: b.toolUseID, StructuredContentJson: b.structured, IsError: b.isError}
	out.Content = &pb.SamplingContent_ToolResult{ToolResult: result}
	ok = b.toolUseID != "" && jsonrpc.Elements(b.content, func(value json.RawMessage) bool {
		content, fits := readContent(value)
		result.Content = append(result.Content, content)
		return fits
	})
	return out, ok
}

// readContent reads a content block of a tool's result.
func readContent(raw json.RawMessage) (*pb.ContentBlock, bool) {
	if rawKind(raw, "text", "image", "audio", "resource") {
		// This includes links: the contract's type for links has fewer members than the client may
		// send.
		return &pb.ContentBlock{Content: &pb.ContentBlock_RawJson{RawJson: string(raw)}}, true
	}
	b, ok := readBlock(raw)
	if !ok {
		return nil, false
	}
	out := &pb.ContentBlock{Annotations: b.annotations, MetaJson: b.meta}
	switch b.kind {
	case "text":
		out.Content = &pb.ContentBlock_Text{Text: &pb.TextContent{Text: b.text}}
		return out, b.hasText
	case "image":
		out.Content = &pb.ContentBlock_Image{Image: &pb.ImageContent{Data: b.data, MimeType: b.mimeType}}
		return out, b.hasData && b.mimeType != ""
	case "audio":
		out.Content = &pb.ContentBlock_Audio{Audio: &pb.AudioContent{Data: b.data, MimeType: b.mimeType}}
		return out, b.hasData && b.mimeType != ""
	}
	contents, ok := readResourceContents(b.resource)
	out.Content = &pb.ContentBlock_Resource{Resource: contents}
	return out, ok
}

func readResourceContents(raw json.RawMessage) (*pb.ResourceContents, bool) {
	out := &pb.ResourceContents{}
	ok := object(raw, func(key []byte, value json.RawMessage) bool {
		switch string(key) {
		case "uri":
			return text(&out.Uri, value)
		case "mimeType":
			return text(&out.MimeType, value)
		case "text":
			body := &pb.ResourceContents_Text{}
			out.Body = body
			return text(&body.Text, value)
		case "blob":
			body := &pb.ResourceContents_Blob{}
			out.Body = body
			return binary(&body.Blob, value)
		case "_meta":
			return rawObject(&out.MetaJson, value)
		}
		return true
	})
	return out, ok && out.Uri != "" && out.Body != nil
}
