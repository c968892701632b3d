package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/redact"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestJSON(t *testing.T) {
	v := results(t, append(named("card", "email", "iban"),
		redact.Rule{Name: "owner", Path: "result.customer.owner"}, redact.Rule{Name: "pin", Path: "result.*.pin", Replace: "0"},
		redact.Rule{Name: "secret", Path: "arguments.secret"})...)
	for in, want := range map[string]string{
		`{"a": [1, "x" , true,null ], "b":{}}`:              `{"a": [1, "x" , true,null ], "b":{}}`,
		`{ "n" : 4111111111111111 }`:                        `{ "n" : "<card>" }`,
		`[4.111111111111111e15,-1.5e3,4111111111111111.0]`:  `["<card>",-1.5e3,"<card>"]`,
		`"\u0034111111111111111"`:                           `"<card>"`,
		`{"x\u0040y.de":1,"a@b.de":2,"c":"\n\"q\" a@b.de"}`: `{"<email>":1,"<email> 2":2,"c":"\n\"q\" <email>"}`,
		`{"customer":{"owner":{"deep":[1]},"pin":1234}}`:    `{"customer":{"owner":"[REDACTED:owner]","pin":0}}`,
		`{"customer":[{"owner":"o1"},{"owner":"o2"}]}`:      `{"customer":[{"owner":"[REDACTED:owner]"},{"owner":"[REDACTED:owner]"}]}`,
		`{"owner":"o","x":{"pin":"12"},"secret":1}`:         `{"owner":"o","x":{"pin":"0"},"secret":1}`,
		`{"twin":"{\"n\":\"\\u0034111111111111111\"}"}`:     `{"twin":"{\"n\":\"<card>\"}"}`,
		`{"text":"a <b> & 'c' é"}`:                          `{"text":"a <b> & 'c' é"}`,
		`not JSON 4111111111111111`:                         `not JSON <card>`,
	} {
		got := v.Result(in)
		if got != want {
			t.Errorf("%s\n became %s,\n want   %s", in, got, want)
		}
		if v.Result(got) != got {
			t.Errorf("%s is masked again: %s", got, v.Result(got))
		}
	}
	if got := string(v.Arguments(json.RawMessage(`{"secret":[1],"customer":{"owner":"o"}}`))); got != `{"secret":"[REDACTED:secret]","customer":{"owner":"o"}}` {
		t.Errorf("arguments became %s", got)
	}
	got := v.Text(`{"content":[{"type":"text","text":"{\"customer\":{\"owner\":\"o\"}}"}],"structuredContent":{"customer":{"owner":"o"}},"arguments":{"secret":1}}`)
	want := `{"content":[{"type":"text","text":"{\"customer\":{\"owner\":\"[REDACTED:owner]\"}}"}],"structuredContent":{"customer":{"owner":"[REDACTED:owner]"}},"arguments":{"secret":"[REDACTED:secret]"}}`
	if got != want {
		t.Errorf("a whole result became\n%s, want\n%s", got, want)
	}
}

func TestDocumentsInStrings(t *testing.T) {
	text := "4111111111111111"
	for range 12 {
		raw, err := json.Marshal(map[string]string{"x": text})
		if err != nil {
			t.Fatal(err)
		}
		text = string(raw)
		if got := results(t, named("card")...).Text(text); strings.Contains(got, "4111111111111111") || !json.Valid([]byte(got)) {
			t.Errorf("%.80s became %.80s", text, got)
		}
	}
}

func TestMessage(t *testing.T) {
	v := results(t, append(named("card", "email"), redact.Rule{Name: "pin", Path: "result.pin"})...)
	res := &pb.CallToolResult{
		Content: []*pb.ContentBlock{
			{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: `{"pin":1,"n":4111111111111111}`}}, MetaJson: `{"m":"a@b.de","pin":1}`},
			{Content: &pb.ContentBlock_Image{Image: &pb.ImageContent{Data: []byte("a@b.de"), MimeType: "image/png"}}},
			{Content: &pb.ContentBlock_ResourceLink{ResourceLink: &pb.Resource{Uri: "mailto:a@b.de", Name: "a@b.de", Description: "of a@b.de"}}},
			{Content: &pb.ContentBlock_Resource{Resource: &pb.ResourceContents{Uri: "x://a@b.de", Body: &pb.ResourceContents_Text{Text: "a@b.de"}}}},
			{Content: &pb.ContentBlock_RawJson{RawJson: `{"type":"new","a@b.de":["a@b.de"]}`}},
		},
		StructuredContentJson: `{"pin":1,"n":4111111111111111}`, MetaJson: `{"a@b.de":4111111111111111}`,
	}
	v.Message(res)
	for got, want := range map[string]string{
		res.GetStructuredContentJson():                         `{"pin":"[REDACTED:pin]","n":"<card>"}`,
		res.GetContent()[0].GetText().GetText():                `{"pin":"[REDACTED:pin]","n":"<card>"}`,
		res.GetContent()[0].GetMetaJson():                      `{"m":"<email>","pin":1}`,
		string(res.GetContent()[1].GetImage().GetData()):       "a@b.de",
		res.GetContent()[2].GetResourceLink().GetUri():         "mailto:a@b.de",
		res.GetContent()[2].GetResourceLink().GetName():        "<email>",
		res.GetContent()[2].GetResourceLink().GetDescription(): "of <email>",
		res.GetContent()[3].GetResource().GetUri():             "x://a@b.de",
		res.GetContent()[3].GetResource().GetText() + "!":      "<email>!",
		res.GetContent()[4].GetRawJson():                       `{"type":"new","<email>":["<email>"]}`,
		res.GetMetaJson():                                      `{"<email>":"<card>"}`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	(*redact.View)(nil).Message(res)
	v.Message((*pb.CallToolResult)(nil))
}

// A form keeps the names of its fields, because the client answers with them. A default that would
// be replaced is removed.
func TestForm(t *testing.T) {
	v := results(t, named("card", "email")...)
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a@b.de":{"type":"string","title":"of c@d.fr","default":"c@d.fr"},"n":{"type":"integer","default":1}},"required":["a@b.de"]}`: `{"type":"object","properties":{"a@b.de":{"type":"string","title":"of <email>"},"n":{"type":"integer","default":1}},"required":["a@b.de"]}`,
		`{"type":"object","properties":{"x":{"enum":["a@b.de","y"],"enumNames":["a@b.de","{\"a@b.de\":1}"]}}}`:                                                        `{"type":"object","properties":{"x":{"enum":["<email>","y"],"enumNames":["<email>","{\"<email>\":1}"]}}}`,
		`{"properties":{"x":{"default":["y","a@b.de"]},"y":4111111111111111}}`:                                                                                        `{"properties":{"x":{},"y":"<card>"}}`,
		`{"type" : "object"}`: `{"type" : "object"}`,
		`a@b.de`:              `<email>`,
	} {
		form := &pb.ElicitForm{Message: "m", RequestedSchemaJson: in}
		if v.Message(form); form.GetRequestedSchemaJson() != want {
			t.Errorf("%s\n became %s,\n want   %s", in, form.GetRequestedSchemaJson(), want)
		}
	}
	l := &pb.LogMessage{Logger: "of a@b.de"}
	if v.Message(l); l.GetLogger() != "of <email>" {
		t.Errorf("the logger is %q", l.GetLogger())
	}
}
