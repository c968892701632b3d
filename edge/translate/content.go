package translate

import (
	"strconv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// audioURI, followed by the block's index, is the URI of audio that a revision without audio blocks
// receives as an embedded resource. It is absolute, as the revision requires, and cannot be read.
const audioURI = "mcpedge:audio/"

// appendContents appends an array of content blocks.
func appendContents(dst []byte, r *revision.Rules, blocks []*pb.ContentBlock) ([]byte, error) {
	start := len(dst)
	for i, block := range blocks {
		var err error
		if dst, err = appendContent(append(dst, ','), r, block, i); err != nil {
			return dst, withElement("content", i, err)
		}
	}
	return closeArray(dst, start), nil
}

// appendContent appends one block (Server Features, "Tools", "Tool Result"). nth is its index.
func appendContent(dst []byte, r *revision.Rules, block *pb.ContentBlock, nth int) ([]byte, error) {
	var err error
	switch c := block.GetContent().(type) {
	case *pb.ContentBlock_Text:
		dst = appendTextBlock(dst, c.Text.GetText())
	case *pb.ContentBlock_Image:
		dst, err = appendMedia(dst, "image", c.Image.GetData(), c.Image.GetMimeType())
	case *pb.ContentBlock_Audio:
		if r.Audio {
			dst, err = appendMedia(dst, "audio", c.Audio.GetData(), c.Audio.GetMimeType())
		} else {
			dst, err = appendAudioResource(dst, c.Audio, nth)
		}
	case *pb.ContentBlock_ResourceLink:
		return appendLink(dst, r, block, c.ResourceLink)
	case *pb.ContentBlock_Resource:
		dst = append(dst, `{"type":"resource","resource":`...)
		dst, err = appendResourceContents(dst, r, c.Resource)
		err = withField("resource", err)
	case *pb.ContentBlock_RawJson:
		if block.GetAnnotations() != nil || block.GetMetaJson() != "" {
			return dst, contractError("raw_json", "a whole block, yet annotations or meta_json are set beside it; put them inside")
		}
		return appendRawBlock(dst, c.RawJson, func(kind string) bool { return hasBlock(r, kind) })
	default:
		return dst, contractError("content", "unset, or of a kind that the edge does not know; set one of its fields, or raw_json")
	}
	if err != nil {
		return dst, err
	}
	return closeBlock(dst, r, block.GetAnnotations(), block.GetMetaJson())
}

// closeBlock appends the members that every block may have, and the brace.
func closeBlock(dst []byte, r *revision.Rules, a *pb.Annotations, meta string) ([]byte, error) {
	dst, err := appendAnnotations(dst, r, a)
	if err != nil {
		return dst, err
	}
	if dst, err = appendObjectMeta(dst, r, meta); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

// appendTextBlock appends a text block without its closing brace.
func appendTextBlock(dst []byte, text string) []byte {
	return jsonrpc.AppendString(append(dst, `{"type":"text","text":`...), text)
}

// appendMedia appends an image or audio block without its closing brace.
func appendMedia(dst []byte, kind string, data []byte, mimeType string) ([]byte, error) {
	if mimeType == "" {
		return dst, contractError(kind+".mime_type", "empty; say what the bytes are, such as image/png or audio/wav")
	}
	dst = append(append(append(dst, `{"type":"`...), kind...), `","data":`...)
	dst = appendBase64(dst, data)
	return jsonrpc.AppendString(append(dst, `,"mimeType":`...), mimeType), nil
}

func appendAudioResource(dst []byte, audio *pb.AudioContent, nth int) ([]byte, error) {
	if audio.GetMimeType() == "" {
		return dst, contractError("audio.mime_type", "empty; say what the bytes are, such as audio/wav")
	}
	dst = append(dst, `{"type":"resource","resource":{"uri":"`+audioURI...)
	dst = strconv.AppendInt(dst, int64(nth), 10)
	dst = jsonrpc.AppendString(append(dst, `","mimeType":`...), audio.GetMimeType())
	dst = appendBase64(append(dst, `,"blob":`...), audio.GetData())
	return append(dst, '}'), nil
}

// appendLink appends a complete resource_link block, or the text that replaces it. The block's own
// annotations and _meta take precedence over the link's.
func appendLink(dst []byte, r *revision.Rules, block *pb.ContentBlock, link *pb.Resource) ([]byte, error) {
	annotations, meta := block.GetAnnotations(), block.GetMetaJson()
	if annotations == nil {
		annotations = link.GetAnnotations()
	}
	if meta == "" {
		meta = link.GetMetaJson()
	}
	start := len(dst)
	dst, err := appendResourceMembers(append(dst, `{"type":"resource_link",`...), r, link)
	if err != nil {
		return dst, withField("resource_link", err)
	}
	if !r.ResourceLinks {
		dst = appendTextBlock(dst[:start], linkText(link))
	}
	return closeBlock(dst, r, annotations, meta)
}

// linkText returns the content of a link as text for a human or a model.
func linkText(link *pb.Resource) string {
	name := link.GetTitle()
	if name == "" {
		name = link.GetName()
	}
	text := name + ": " + link.GetUri()
	if link.GetDescription() != "" {
		text += "\n" + link.GetDescription()
	}
	return text
}

// appendRawBlock appends a block that the contract does not type: unchanged if the revision has its
// type, else as text that contains it.
func appendRawBlock(dst []byte, raw string, has func(kind string) bool) ([]byte, error) {
	start := len(dst)
	dst, err := appendJSONObject(dst, "raw_json", raw)
	if err != nil {
		return dst, err
	}
	value, _ := jsonrpc.Member(dst[start:], "type")
	kind, ok := jsonrpc.Unquote(value)
	if !ok {
		return dst, contractError("raw_json", "a content block without the string \"type\"; set its kind")
	}
	if has(kind) {
		return dst, nil
	}
	text := string(dst[start:])
	return append(appendTextBlock(dst[:start], text), '}'), nil
}

// hasBlock reports whether a revision has a type of content block.
func hasBlock(r *revision.Rules, kind string) bool {
	switch kind {
	case "text", "image", "resource":
		return true
	case "audio":
		return r.Audio
	case "resource_link":
		return r.ResourceLinks
	}
	return false
}

// contentSize estimates the size of the blocks' JSON in bytes, for one allocation.
func contentSize(blocks []*pb.ContentBlock) int {
	n := 0
	for _, block := range blocks {
		n += 64 + len(block.GetMetaJson())
		switch c := block.GetContent().(type) {
		case *pb.ContentBlock_Text:
			n += stringSize(c.Text.GetText())
		case *pb.ContentBlock_Image:
			n += len(c.Image.GetData())*4/3 + 64
		case *pb.ContentBlock_Audio:
			n += len(c.Audio.GetData())*4/3 + 128
		case *pb.ContentBlock_Resource:
			n += stringSize(c.Resource.GetText()) + len(c.Resource.GetBlob())*4/3 + 128
		case *pb.ContentBlock_RawJson:
			n += len(c.RawJson)
		default:
			n += 256
		}
	}
	return n
}

// stringSize is a string's length with room for some escapes.
func stringSize(s string) int { return len(s) + len(s)/16 + 2 }
