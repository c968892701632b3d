package shorten

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func block(text string) *pb.ContentBlock {
	return &pb.ContentBlock{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: text}}}
}

func raw(text string) *pb.ContentBlock {
	return &pb.ContentBlock{Content: &pb.ContentBlock_RawJson{RawJson: text}}
}

func link(description string) *pb.ContentBlock {
	return &pb.ContentBlock{Content: &pb.ContentBlock_ResourceLink{ResourceLink: &pb.Resource{Uri: "x:1", Name: "x", Description: description}}}
}

func embedded(uri, text string) *pb.ContentBlock {
	return &pb.ContentBlock{Content: &pb.ContentBlock_Resource{Resource: &pb.ResourceContents{Uri: uri, MimeType: "text/plain", Body: &pb.ResourceContents_Text{Text: text}}}}
}

// texts returns the texts of a result's blocks. A block in JSON is returned whole, and a resource
// without text as its URI.
func texts(res *pb.CallToolResult) (out []string) {
	for _, c := range res.GetContent() {
		switch x := c.GetContent().(type) {
		case *pb.ContentBlock_Resource:
			out = append(out, x.Resource.GetUri()+" "+x.Resource.GetMimeType()+" "+x.Resource.GetText())
		case *pb.ContentBlock_RawJson:
			out = append(out, x.RawJson)
		case *pb.ContentBlock_ResourceLink:
			out = append(out, x.ResourceLink.GetUri())
		default:
			out = append(out, c.GetText().GetText())
		}
	}
	return out
}

func TestResult(t *testing.T) {
	lines := strings.Repeat("a line of text\n", 20) // 300 bytes
	image := &pb.ContentBlock{Content: &pb.ContentBlock_Image{Image: &pb.ImageContent{Data: make([]byte, 1000)}}}
	one := func(blocks ...*pb.ContentBlock) *pb.CallToolResult { return &pb.CallToolResult{Content: blocks} }
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		res    *pb.CallToolResult
		tokens int
		keeps  bool
		want   []string // the texts before the note; nil: unchanged
		note   string
		failed bool
	}{
		"it fits":        {res: &pb.CallToolResult{Content: []*pb.ContentBlock{block(lines)}}, tokens: 75},
		"an image":       {res: &pb.CallToolResult{Content: []*pb.ContentBlock{image}}, tokens: 1},
		"a line's end":   {res: &pb.CallToolResult{Content: []*pb.ContentBlock{block(lines)}}, tokens: 10, want: []string{"a line of text\na line of text\n"}, note: "about 75 tokens, and at most 10 are"},
		"a word's end":   {res: &pb.CallToolResult{Content: []*pb.ContentBlock{block("one two three four")}}, tokens: 2, want: []string{"one two "}},
		"one long word":  {res: &pb.CallToolResult{Content: []*pb.ContentBlock{block(strings.Repeat("é", 9))}}, tokens: 1, want: []string{"éé"}},
		"several texts":  {res: &pb.CallToolResult{Content: []*pb.ContentBlock{block("12345678"), image, block("abcdefgh"), block("x")}}, tokens: 4, want: []string{"12345678", "", "abcd"}},
		"a resource":     {res: one(embedded("x:1", lines), block("x")), tokens: 10, want: []string{"x:1 text/plain a line of text\n"}},
		"its URI alone":  {res: one(embedded("xyz:12", lines)), tokens: 4, want: []string{"xyz:12 text/plain "}},
		"a long URI":     {res: one(embedded("x:"+long, "x")), tokens: 10, want: []string{}},
		"a raw text":     {res: one(raw(`{"type":"text","text":"` + strings.Repeat(`a \"line\"\n`, 20) + `","n":1.0}`)), tokens: 12, want: []string{`{"type":"text","text":"a \"line\"\n","n":1.0}`}},
		"a raw resource": {res: one(raw(`{"type":"resource","resource":{"uri":"x:1","text":"` + strings.Repeat("a line ", 30) + `"}}`)), tokens: 15, want: []string{`{"type":"resource","resource":{"uri":"x:1","text":"a line "}}`}},
		"another block":  {res: one(raw(`{"type":"hologram","v":"`+long+`"}`), raw(`{"type":"hologram"}`)), tokens: 20, want: []string{`{"type":"hologram"}`}},
		"raw pictures":   {res: one(raw(`{"type":"image","data":"` + long + `"}`)), tokens: 10},
		"a long link":    {res: one(link(long), block("x")), tokens: 20, want: []string{"x"}},
		"a link below":   {res: one(block(lines), link("")), tokens: 20, want: []string{strings.Repeat("a line of text\n", 4), "x:1"}},
		"long metadata":  {res: one(&pb.ContentBlock{Content: block("x").Content, MetaJson: `{"a":"` + long + `"}`}, block("y")), tokens: 20, want: []string{"y"}},
		"an audience":    {res: one(&pb.ContentBlock{Content: image.Content, Annotations: &pb.Annotations{LastModified: long}}, block("y")), tokens: 20, want: []string{"y"}},
		"metadata of it": {res: &pb.CallToolResult{Content: []*pb.ContentBlock{block("x")}, MetaJson: `{"a":"` + long + `"}`}, tokens: 1},
		"many blocks":    {res: one(block(""), block(""), block(""), block("")), tokens: 3, want: []string{"", "", ""}},
		"structured":     {res: &pb.CallToolResult{Content: []*pb.ContentBlock{block("x")}, StructuredContentJson: `{"a":"` + lines[:40] + `"}`}, tokens: 5, want: []string{"x"}},
		"a kept promise": {res: &pb.CallToolResult{Content: []*pb.ContentBlock{block("x")}, StructuredContentJson: `{"a":"` + lines[:40] + `"}`}, tokens: 5, keeps: true, want: []string{"x"}, note: "The call itself has succeeded.", failed: true},
		"an error":       {res: &pb.CallToolResult{IsError: true, Content: []*pb.ContentBlock{block(lines)}}, tokens: 4, want: []string{"a line of text\n"}, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := proto.CloneOf(c.res)
			out, cut := Result(c.res, c.tokens, `{"properties":{"id":{},"maxRows":{},"cursor":{}}}`, c.keeps)
			if !proto.Equal(before, c.res) {
				t.Error("the result was modified")
			}
			if cut != (c.want != nil) || !cut && out != c.res {
				t.Fatalf("cut: %t: %v", cut, out)
			}
			if !cut {
				return
			}
			got := texts(out)
			note := got[len(got)-1]
			if strings.Join(got[:len(got)-1], "|") != strings.Join(c.want, "|") || len(got) != len(c.want)+1 {
				t.Errorf("the texts are %q, want %q", got, c.want)
			}
			if !strings.Contains(note, c.note) || !strings.Contains(note, "by the arguments maxRows, cursor.") {
				t.Errorf("the note is %s", note)
			}
			if out.GetIsError() != c.failed || out.GetStructuredContentJson() != "" {
				t.Errorf("%v", out)
			}
		})
	}
	if advise("{") != " Ask for less." || advise(`{"properties":{"id":{}}}`) != " Ask for less." {
		t.Error("arguments are named that do not ask for less")
	}
}

// The remaining texts are a beginning of the texts, valid UTF-8, and at most as long as allowed.
func TestShortened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		res, all := &pb.CallToolResult{}, ""
		for range rapid.IntRange(1, 4).Draw(t, "blocks") {
			text := rapid.StringOfN(rapid.RuneFrom([]rune("ab \né語🙂")), 0, 60, -1).Draw(t, "text")
			res.Content, all = append(res.Content, block(text)), all+text
		}
		tokens := rapid.IntRange(1, 30).Draw(t, "tokens")
		out, cut := Result(res, tokens, "", false)
		size := 0
		for _, c := range res.GetContent() {
			size += max(BytesPerToken, len(c.GetText().GetText()))
		}
		if cut != (size > tokens*BytesPerToken) {
			t.Fatalf("cut: %t", cut)
		}
		if !cut {
			return
		}
		kept := texts(out)
		got := strings.Join(kept[:len(kept)-1], "")
		if !strings.HasPrefix(all, got) || len(got) > tokens*BytesPerToken || !utf8.ValidString(got) {
			t.Fatalf("%q is left of %q", got, all)
		}
	})
}
