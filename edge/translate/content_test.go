package translate

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func textBlock(s string) *pb.ContentBlock {
	return &pb.ContentBlock{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: s}}}
}

func rawBlock(s string) *pb.ContentBlock {
	return &pb.ContentBlock{Content: &pb.ContentBlock_RawJson{RawJson: s}}
}

func audioBlock() *pb.ContentBlock {
	return &pb.ContentBlock{Content: &pb.ContentBlock_Audio{Audio: &pb.AudioContent{Data: []byte{1, 2, 3}, MimeType: "audio/wav"}}}
}

var link = &pb.Resource{
	Uri: "file:///a", Name: "a", Title: "A", Description: "about", MimeType: "text/plain", Size: ptr(int64(7)),
	Annotations: &pb.Annotations{Priority: ptr(0.5)}, Icons: []*pb.Icon{{Src: "https://x/i.png"}}, MetaJson: `{"l":1}`,
}

func TestContent(t *testing.T) {
	notes := &pb.Annotations{
		Audience: []pb.Role{pb.Role_ROLE_USER, pb.Role_ROLE_ASSISTANT}, Priority: ptr(0.0), LastModified: "2025-01-01T00:00:00Z",
	}
	tests := []struct {
		name  string
		block *pb.ContentBlock
		want  byRevision
	}{
		{"text", textBlock("a\"\n\u2028é\U0001F389"), byRevision{`{"type":"text","text":"a\"\n\u2028é🎉"}`}},
		{"empty text", textBlock(""), byRevision{`{"type":"text","text":""}`}},
		{"text with notes", &pb.ContentBlock{
			Content: textBlock("a").Content, Annotations: notes, MetaJson: "{\n \"k\": 1.0}",
		}, byRevision{
			0: `{"type":"text","text":"a","annotations":{"audience":["user","assistant"],"priority":0}}`,
			2: `{"type":"text","text":"a","annotations":{"audience":["user","assistant"],"priority":0,"lastModified":"2025-01-01T00:00:00Z"},"_meta":{"k":1.0}}`,
		}},
		{"notes that vanish", &pb.ContentBlock{
			Content: textBlock("a").Content, Annotations: &pb.Annotations{LastModified: "2025"},
		}, byRevision{0: `{"type":"text","text":"a"}`, 2: `{"type":"text","text":"a","annotations":{"lastModified":"2025"}}`}},
		{"image", &pb.ContentBlock{
			Content: &pb.ContentBlock_Image{Image: &pb.ImageContent{Data: []byte{0xff, 0xfe}, MimeType: "image/png"}},
		}, byRevision{`{"type":"image","data":"//4=","mimeType":"image/png"}`}},
		{"audio", audioBlock(), byRevision{
			0: `{"type":"resource","resource":{"uri":"mcpedge:audio/3","mimeType":"audio/wav","blob":"AQID"}}`,
			1: `{"type":"audio","data":"AQID","mimeType":"audio/wav"}`,
		}},
		{"link", &pb.ContentBlock{Content: &pb.ContentBlock_ResourceLink{ResourceLink: link}}, byRevision{
			0: `{"type":"text","text":"A: file:///a\nabout","annotations":{"priority":0.5}}`,
			2: `{"type":"resource_link","uri":"file:///a","name":"a","title":"A","description":"about","mimeType":"text/plain","size":7,"annotations":{"priority":0.5},"_meta":{"l":1}}`,
			3: `{"type":"resource_link","uri":"file:///a","name":"a","title":"A","description":"about","mimeType":"text/plain","size":7,"icons":[{"src":"https://x/i.png"}],"annotations":{"priority":0.5},"_meta":{"l":1}}`,
		}},
		{"link with the block's own notes", &pb.ContentBlock{
			Content:     &pb.ContentBlock_ResourceLink{ResourceLink: &pb.Resource{Uri: "a:b", Name: "n", MetaJson: `{"l":1}`, Annotations: notes}},
			Annotations: &pb.Annotations{Priority: ptr(1.0)}, MetaJson: `{"b":2}`,
		}, byRevision{
			0: `{"type":"text","text":"n: a:b","annotations":{"priority":1}}`,
			2: `{"type":"resource_link","uri":"a:b","name":"n","annotations":{"priority":1},"_meta":{"b":2}}`,
		}},
		{"resource", &pb.ContentBlock{Content: &pb.ContentBlock_Resource{Resource: &pb.ResourceContents{
			Uri: "a:b", MimeType: "text/plain", Body: &pb.ResourceContents_Text{Text: ""}, MetaJson: `{"ui":{}}`,
		}}}, byRevision{
			0: `{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":""}}`,
			2: `{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"","_meta":{"ui":{}}}}`,
		}},
		{"raw of a known type", rawBlock(`{ "type":"text", "text":"x", "n":1.50 }`), byRevision{`{ "type":"text", "text":"x", "n":1.50 }`}},
		{"raw audio", rawBlock(`{"type":"audio","data":"AQID","mimeType":"audio/wav"}`), byRevision{
			0: `{"type":"text","text":"{\"type\":\"audio\",\"data\":\"AQID\",\"mimeType\":\"audio/wav\"}"}`,
			1: `{"type":"audio","data":"AQID","mimeType":"audio/wav"}`,
		}},
		{"raw of an unknown type", rawBlock("{\"type\":\"hologram\",\n\"v\":1}"), byRevision{
			`{"type":"text","text":"{\"type\":\"hologram\",\"v\":1}"}`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.each(t, func(t *testing.T, r *revision.Rules, want string) {
				got, err := appendContent(nil, r, tt.block, 3)
				if err != nil {
					t.Fatal(err)
				}
				same(t, r, "PromptMessage", []byte(`{"role":"user","content":`+string(got)+`}`), `{"role":"user","content":`+want+`}`)
			})
		})
	}
}

func TestContentRefused(t *testing.T) {
	tests := []struct {
		name, part string
		block      *pb.ContentBlock
	}{
		{"nil", "content[0].content: unset", nil},
		{"unset", "content[0].content: unset", &pb.ContentBlock{}},
		{"image without type", "content[0].image.mime_type: empty", &pb.ContentBlock{Content: &pb.ContentBlock_Image{Image: &pb.ImageContent{}}}},
		{"nil audio", "content[0].audio.mime_type: empty", &pb.ContentBlock{Content: &pb.ContentBlock_Audio{}}},
		{"link without name", "content[0].resource_link.name: empty", &pb.ContentBlock{Content: &pb.ContentBlock_ResourceLink{ResourceLink: &pb.Resource{Uri: "a:b"}}}},
		{"resource without body", "content[0].resource.body: unset", &pb.ContentBlock{Content: &pb.ContentBlock_Resource{Resource: &pb.ResourceContents{Uri: "a:b"}}}},
		{"role", "content[0].annotations.audience: ROLE_UNSPECIFIED", &pb.ContentBlock{Content: textBlock("").Content, Annotations: &pb.Annotations{Audience: []pb.Role{0}}}},
		{"priority", "content[0].annotations.priority: 1.5", &pb.ContentBlock{Content: textBlock("").Content, Annotations: &pb.Annotations{Priority: ptr(1.5)}}},
		{"meta", "content[0].meta_json: of type array", &pb.ContentBlock{Content: textBlock("").Content, MetaJson: `[]`}},
		{"bad JSON", "content[0].raw_json: no valid JSON", rawBlock(`{"type":"text"`)},
		{"no type", "content[0].raw_json: a content block without", rawBlock(`{"type":1}`)},
		{"raw and meta", "content[0].raw_json: a whole block", &pb.ContentBlock{Content: rawBlock(`{"type":"text"}`).Content, MetaJson: `{}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range revision.All() {
				_, err := toolResult(r, server, &pb.CallToolResult{Content: []*pb.ContentBlock{tt.block}})
				refused(t, err, mcp.KindContract, tt.part)
			}
		})
	}
}
