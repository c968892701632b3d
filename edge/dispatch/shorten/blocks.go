package shorten

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// sized is a block with the sizes of its parts in bytes.
type sized struct {
	block *pb.ContentBlock
	// text can be cut if cuttable is true. A block that is not cuttable is kept whole or dropped.
	text     string
	cuttable bool
	// beside is the size of the counted fields that cannot be cut.
	beside int
}

// bytes returns the counted size of the block. It is never 0: many empty blocks are long, too.
func (s *sized) bytes() int { return max(BytesPerToken, len(s.text)+s.beside) }

type sizedBlocks []sized

func measure(blocks []*pb.ContentBlock) sizedBlocks {
	out := make(sizedBlocks, len(blocks))
	for i, c := range blocks {
		out[i] = sizeOf(c)
	}
	return out
}

// sizeOf measures a block.
func sizeOf(c *pb.ContentBlock) sized {
	s := sized{block: c, beside: len(c.GetMetaJson()) + proto.Size(c.GetAnnotations())}
	switch x := c.GetContent().(type) {
	case *pb.ContentBlock_Text:
		s.text, s.cuttable = x.Text.GetText(), true
	case *pb.ContentBlock_Resource:
		if t, ok := x.Resource.GetBody().(*pb.ResourceContents_Text); ok {
			s.text, s.cuttable = t.Text, true
		}
		s.beside += len(x.Resource.GetUri()) + len(x.Resource.GetMimeType()) + len(x.Resource.GetMetaJson())
	case *pb.ContentBlock_Image:
		s.beside += len(x.Image.GetMimeType())
	case *pb.ContentBlock_Audio:
		s.beside += len(x.Audio.GetMimeType())
	case *pb.ContentBlock_ResourceLink:
		s.beside += proto.Size(x.ResourceLink)
	case *pb.ContentBlock_RawJson:
		raw := readRaw(x.RawJson)
		s.text, s.cuttable = raw.text, raw.cuttable
		s.beside += raw.beside
	}
	return s
}

func (blocks sizedBlocks) total() (sum int) {
	for i := range blocks {
		sum += blocks[i].bytes()
	}
	return sum
}

// within selects blocks, in their order, of up to most bytes together.
//
// A block that cannot be cut, such as a link, is kept if it fits into half of most, or into the
// bytes that the texts leave, whichever is more. The remaining bytes are for the texts. The first
// text that does not fit is cut, and later ones are dropped. A block is also dropped if its fields
// other than the text do not fit.
func (blocks sizedBlocks) within(most int) (out []*pb.ContentBlock) {
	texts := 0
	for i := range blocks {
		if blocks[i].cuttable {
			texts += blocks[i].bytes()
		}
	}
	room, kept := max(most/2, most-texts), make([]bool, len(blocks))
	for i := range blocks {
		if b := &blocks[i]; !b.cuttable && b.bytes() <= room {
			kept[i], room, most = true, room-b.bytes(), most-b.bytes()
		}
	}
	for i := range blocks {
		switch b := &blocks[i]; {
		case !b.cuttable:
			if kept[i] {
				out = append(out, b.block)
			}
		case b.bytes() <= most:
			most -= b.bytes()
			out = append(out, b.block)
		case b.beside <= most:
			if part := b.cut(most); part != nil {
				out = append(out, part)
			}
			most = 0
		}
	}
	return out
}

// cut returns the block with a shorter text, so that it has at most most bytes. most must be at
// least s.beside. It returns nil if no text would be left. An embedded resource is returned even
// without text, because it has a URI.
func (s *sized) cut(most int) *pb.ContentBlock {
	if most < BytesPerToken {
		return nil
	}
	part := head(s.text, min(most-s.beside, len(s.text)))
	out := &pb.ContentBlock{Annotations: s.block.GetAnnotations(), MetaJson: s.block.GetMetaJson()}
	switch x := s.block.GetContent().(type) {
	case *pb.ContentBlock_Text:
		if part == "" {
			return nil
		}
		out.Content = &pb.ContentBlock_Text{Text: &pb.TextContent{Text: part}}
	case *pb.ContentBlock_Resource:
		out.Content = &pb.ContentBlock_Resource{Resource: &pb.ResourceContents{
			Uri: x.Resource.GetUri(), MimeType: x.Resource.GetMimeType(), MetaJson: x.Resource.GetMetaJson(), Body: &pb.ResourceContents_Text{Text: part},
		}}
	case *pb.ContentBlock_RawJson:
		out.Content = &pb.ContentBlock_RawJson{RawJson: replaceText(x.RawJson, part)}
	}
	return out
}

// head returns at most the first n bytes of a text. It never splits a character. It ends after a
// line, or else after a word, if one ends in the second half.
func head(text string, n int) string {
	if n == len(text) {
		return text
	}
	part := text[:n]
	for _, at := range []int{strings.LastIndexByte(part, '\n'), strings.LastIndexAny(part, " \t,;")} {
		if at >= 0 && at+1 >= n/2 {
			return part[:at+1]
		}
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
