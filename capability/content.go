package capability

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Result is a tool's result in full: for tools that mix content with structured content, fail
// with content, or set `_meta`. MCP: CallToolResult.
type Result struct {
	// Content may be empty; with Structured set the edge then adds its serialization as text.
	Content []*Content
	// Structured is encoded as JSON; a json.RawMessage goes out verbatim, nil is none.
	Structured any
	// IsError: the tool failed in a way the model should see.
	IsError bool
	// Meta is the result's `_meta`, a JSON object; empty: none.
	Meta json.RawMessage
}

// ErrorResult is a failure the model sees and can act on, with the given text.
func ErrorResult(format string, args ...any) *Result {
	return &Result{Content: []*Content{Text(fmt.Sprintf(format, args...))}, IsError: true}
}

// Text is plain text content. What is not UTF-8 in it becomes U+FFFD.
func Text(text string) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_Text{Text: &mcpedgev1.TextContent{Text: valid(text)}}}
}

// Image is a picture: its raw bytes (not base64) and MIME type.
func Image(data []byte, mimeType string) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_Image{
		Image: &mcpedgev1.ImageContent{Data: data, MimeType: mimeType}}}
}

// Audio is a sound: its raw bytes (not base64) and MIME type.
func Audio(data []byte, mimeType string) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_Audio{
		Audio: &mcpedgev1.AudioContent{Data: data, MimeType: mimeType}}}
}

// Link refers to a resource the client may read; URI and name are required.
func Link(r *Resource) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_ResourceLink{ResourceLink: r}}
}

// Embed carries a resource's contents along; their URI is required.
func Embed(c *ResourceContents) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_Resource{Resource: c}}
}

// RawContent is a whole content block as a JSON object with `type`, passed on as it is.
func RawContent(block json.RawMessage) *Content {
	return &Content{Content: &mcpedgev1.ContentBlock_RawJson{RawJson: string(block)}}
}

// TextContents is the text of a resource. When it is returned by a read, an empty uri becomes the
// URI that was read and an empty MIME type that of the resource or template. What is not UTF-8 in
// the text becomes U+FFFD.
func TextContents(uri, mimeType, text string) *ResourceContents {
	return &ResourceContents{Uri: uri, MimeType: mimeType,
		Body: &mcpedgev1.ResourceContents_Text{Text: valid(text)}}
}

// BlobContents is the raw bytes (not base64) of a resource; empty fields are as in TextContents.
func BlobContents(uri, mimeType string, blob []byte) *ResourceContents {
	return &ResourceContents{Uri: uri, MimeType: mimeType,
		Body: &mcpedgev1.ResourceContents_Blob{Blob: blob}}
}

// Message is one turn of a prompt.
func Message(role Role, content *Content) *PromptMessage {
	return &PromptMessage{Role: role, Content: content}
}

// SamplingText is a turn of plain text for a SamplingRequest.
func SamplingText(role Role, text string) *SamplingMessage {
	return &SamplingMessage{Role: role, Content: []*SamplingContent{{
		Content: &mcpedgev1.SamplingContent_Text{Text: &mcpedgev1.TextContent{Text: text}}}}}
}

// valid makes text fit for a protobuf string, which is UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// encodeJSON is json.Marshal without the escaping of HTML; a json.RawMessage is taken verbatim. The error about a number that JSON does not
// have says where it is.
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
	return string(b.Bytes()[:b.Len()-1]), nil // without Encode's newline
}
