package capability

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Result is a complete tool result, for tools that combine content with structured content, fail
// with content, or set `_meta`. MCP: CallToolResult.
type Result struct {
	// Content may be empty. If Structured is set, the edge then adds its JSON as text content.
	Content []*Content
	// Structured is encoded as JSON; a json.RawMessage is sent verbatim. nil means no structured
	// content.
	Structured any
	// IsError marks a failure of the tool that the model should see.
	IsError bool
	// Meta is `_meta` of the result, a JSON object. Empty means none.
	Meta json.RawMessage
}

// ErrorResult returns a Result with IsError set and the formatted text, which the model can act on.
func ErrorResult(format string, args ...any) *Result {
	return &Result{Content: []*Content{Text(fmt.Sprintf(format, args...))}, IsError: true}
}

// Text returns plain text content. Invalid UTF-8 is replaced by U+FFFD.
func Text(text string) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_Text{Text: &mcpedgev1.TextContent{Text: valid(text)}}}
}

// Image returns an image from its raw bytes (not base64) and its MIME type.
func Image(data []byte, mimeType string) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_Image{
		Image: &mcpedgev1.ImageContent{Data: data, MimeType: mimeType}}}
}

// Audio returns audio from its raw bytes (not base64) and its MIME type.
func Audio(data []byte, mimeType string) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_Audio{
		Audio: &mcpedgev1.AudioContent{Data: data, MimeType: mimeType}}}
}

// Link returns a link to a resource that the client may read. URI and name are required.
func Link(r *Resource) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_ResourceLink{ResourceLink: r}}
}

// Embed returns content with the contents of a resource embedded. Their URI is required.
func Embed(c *ResourceContents) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_Resource{Resource: c}}
}

// RawContent returns a content block from a JSON object with `type`; it is sent verbatim.
func RawContent(block json.RawMessage) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_RawJson{RawJson: string(block)}}
}

// TextContents returns the contents of a text resource. If a read returns them, an empty uri
// becomes the URI that was read, and an empty MIME type that of the resource or template. Invalid
// UTF-8 is replaced by U+FFFD.
func TextContents(uri, mimeType, text string) *ResourceContents {
	return &ResourceContents{Uri: uri, MimeType: mimeType,
		Body: &mcpedgev1.ResourceContents_Text{Text: valid(text)}}
}

// BlobContents returns the contents of a binary resource from its raw bytes (not base64). Empty
// fields are completed as in TextContents.
func BlobContents(uri, mimeType string, blob []byte) *ResourceContents {
	return &ResourceContents{Uri: uri, MimeType: mimeType,
		Body: &mcpedgev1.ResourceContents_Blob{Blob: blob}}
}

// Message returns a message of a prompt.
func Message(role Role, content *Content) *PromptMessage {
	return &PromptMessage{Role: role, Content: content}
}

// SamplingText returns a text message for a SamplingRequest.
func SamplingText(role Role, text string) *SamplingMessage {
	return &SamplingMessage{Role: role, Content: []*SamplingContent{{
		Content: &mcpedgev1.SamplingContent_Text{Text: &mcpedgev1.TextContent{Text: text}}}}}
}

// SamplingImage returns a message with an image, from its raw bytes, for a SamplingRequest.
func SamplingImage(role Role, data []byte, mimeType string) *SamplingMessage {
	return &SamplingMessage{Role: role, Content: []*SamplingContent{{
		Content: &mcpedgev1.SamplingContent_Image{Image: &mcpedgev1.ImageContent{Data: data, MimeType: mimeType}}}}}
}

// SamplingAudio returns a message with audio, from its raw bytes, for a SamplingRequest.
func SamplingAudio(role Role, data []byte, mimeType string) *SamplingMessage {
	return &SamplingMessage{Role: role, Content: []*SamplingContent{{
		Content: &mcpedgev1.SamplingContent_Audio{Audio: &mcpedgev1.AudioContent{Data: data, MimeType: mimeType}}}}}
}

// SamplingToolResult returns the message that answers a tool use of the client's model, which is
// GetToolUse of a block of its result; id is that of the use. MCP: ToolResultContent.
func SamplingToolResult(id string, content ...*Content) *SamplingMessage {
	return &SamplingMessage{Role: User, Content: []*SamplingContent{{
		Content: &mcpedgev1.SamplingContent_ToolResult{ToolResult: &mcpedgev1.ToolResult{ToolUseId: id, Content: content}}}}}
}

// valid replaces invalid UTF-8, which protobuf strings do not allow.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// encodeJSON encodes v like json.Marshal, without escaping HTML. A json.RawMessage is returned
// verbatim. The error about a number that JSON does not have names its place.
func encodeJSON(v any) (string, error) {
	if raw, ok := v.(json.RawMessage); ok {
		if !json.Valid(raw) || !utf8.Valid(raw) {
			return "", fmt.Errorf("not valid JSON: %.80q", string(raw))
		}
		return string(raw), nil
	}
	b := buffers.Get().(*jsonBuffer)
	defer b.free()
	b.Reset()
	if err := b.enc.Encode(v); err != nil {
		return "", whereNotFinite(v, err)
	}
	return string(b.Bytes()[:b.Len()-1]), nil // without the newline that Encode adds
}
