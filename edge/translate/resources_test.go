package translate

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestResource(t *testing.T) {
	want := byRevision{
		0: `{"uri":"file:///a","name":"a","description":"about","mimeType":"text/plain","size":7,"annotations":{"priority":0.5}}`,
		2: `{"uri":"file:///a","name":"a","title":"A","description":"about","mimeType":"text/plain","size":7,"annotations":{"priority":0.5},"_meta":{"l":1}}`,
		3: `{"uri":"file:///a","name":"a","title":"A","description":"about","mimeType":"text/plain","size":7,"icons":[{"src":"https://x/i.png"}],"annotations":{"priority":0.5},"_meta":{"l":1}}`,
	}
	want.each(t, func(t *testing.T, r *revision.Rules, want string) {
		got, err := AppendResource(nil, r, link)
		if err != nil {
			t.Fatal(err)
		}
		same(t, r, "Resource", got, want)
	})
	for part, x := range map[string]*pb.Resource{
		"uri: empty":       {Name: "n"},
		"name: empty":      {Uri: "a:b"},
		"size: -1":         {Uri: "a:b", Name: "n", Size: ptr(int64(-1))},
		"meta_json: no va": {Uri: "a:b", Name: "n", MetaJson: `nope`},
		"icons[0].src":     {Uri: "a:b", Name: "n", Icons: []*pb.Icon{nil}},
		"annotations.prio": {Uri: "a:b", Name: "n", Annotations: &pb.Annotations{Priority: ptr(-0.1)}},
	} {
		for _, r := range revision.All() {
			got, err := AppendResource([]byte("x"), r, x)
			refused(t, err, mcp.KindContract, part)
			if string(got) != "x" {
				t.Errorf("dst became %q", got)
			}
		}
	}
}

func TestTemplate(t *testing.T) {
	x := &pb.ResourceTemplate{
		UriTemplate: "file:///{p}", Name: "a", Title: "A", Description: "about", MimeType: "text/plain",
		Annotations: link.Annotations, Icons: link.Icons, MetaJson: `{"l":1}`,
	}
	want := byRevision{
		0: `{"uriTemplate":"file:///{p}","name":"a","description":"about","mimeType":"text/plain","annotations":{"priority":0.5}}`,
		2: `{"uriTemplate":"file:///{p}","name":"a","title":"A","description":"about","mimeType":"text/plain","annotations":{"priority":0.5},"_meta":{"l":1}}`,
		3: `{"uriTemplate":"file:///{p}","name":"a","title":"A","description":"about","mimeType":"text/plain","icons":[{"src":"https://x/i.png"}],"annotations":{"priority":0.5},"_meta":{"l":1}}`,
	}
	want.each(t, func(t *testing.T, r *revision.Rules, want string) {
		got, err := AppendTemplate(nil, r, x)
		if err != nil {
			t.Fatal(err)
		}
		same(t, r, "ResourceTemplate", got, want)
	})
	_, err := AppendTemplate(nil, r2607, &pb.ResourceTemplate{Name: "n"})
	refused(t, err, mcp.KindContract, "uri_template: empty")
	_, err = AppendTemplate(nil, r2607, &pb.ResourceTemplate{UriTemplate: "a:{b}"})
	refused(t, err, mcp.KindContract, "name: empty")
}

func TestReadResult(t *testing.T) {
	res := &pb.ReadResourceResult{
		Contents: []*pb.ResourceContents{
			{Uri: "a:b", MimeType: "text/plain", Body: &pb.ResourceContents_Text{Text: "x"}},
			{Uri: "a:c", Body: &pb.ResourceContents_Blob{}},
		},
		Cache: &pb.CacheHint{Ttl: durationpb.New(1500 * time.Microsecond), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC},
	}
	const contents = `{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"x"},{"uri":"a:c","blob":""}]`
	want := byRevision{0: contents + `}`, 4: contents + `,"ttlMs":1,"cacheScope":"public"` + tail + `}`}
	want.each(t, func(t *testing.T, r *revision.Rules, want string) {
		got, err := readResult(r, server, res)
		if err != nil {
			t.Fatal(err)
		}
		same(t, r, "ReadResourceResult", got, want)
	})

	res.Cache = nil
	got, err := readResult(r2607, server, res)
	if err != nil {
		t.Fatal(err)
	}
	same(t, r2607, "ReadResourceResult", got, contents+`,"ttlMs":0,"cacheScope":"private"`+tail+`}`)

	one := []*pb.ResourceContents{{Uri: "a:b", Body: &pb.ResourceContents_Text{}}}
	for part, res := range map[string]*pb.ReadResourceResult{
		"contents: empty":          {},
		"contents[1].uri: empty":   {Contents: append(one[:1:1], &pb.ResourceContents{})},
		"contents[1].body: unset":  {Contents: append(one[:1:1], &pb.ResourceContents{Uri: "a:b"})},
		"cache.ttl: -1s is out of": {Contents: one, Cache: &pb.CacheHint{Ttl: durationpb.New(-time.Second)}},
		"cache.ttl: 721h0m0s is o": {Contents: one, Cache: &pb.CacheHint{Ttl: durationpb.New(721 * time.Hour)}},
		"meta_json: no valid JSON": {Contents: one, MetaJson: `{`},
	} {
		for _, r := range revision.All() {
			_, err := readResult(r, server, res)
			refused(t, err, mcp.KindContract, part)
		}
	}
	_, err = readResult(r2607, server, nil)
	refused(t, err, mcp.KindContract, "contents: empty")
}

func TestReadResourceRequest(t *testing.T) {
	req, err := ReadResourceRequest(callOf(t, mcp.MethodResourcesRead, `{"uri":"a:b"}`))
	if err != nil || req.Uri != "a:b" || req.Context.GetRound() != 2 {
		t.Errorf("got %v, %v", req, err)
	}
	for _, params := range []string{`{}`, `{"uri":1}`, `{"uri":""}`} {
		_, err := ReadResourceRequest(callOf(t, mcp.MethodResourcesRead, params))
		refused(t, err, mcp.KindInvalidParams, "params.uri")
	}
}
