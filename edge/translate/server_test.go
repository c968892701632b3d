package translate

import (
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestServerInfo(t *testing.T) {
	s := NewServer(&pb.Implementation{
		Name: "n", Version: "1", Title: "T", Description: "d", WebsiteUrl: "https://x/",
		Icons: []*pb.Icon{{}, {Src: "https://x/i.png", Theme: "light"}},
	})
	byRevision{
		0: `{"name":"n","version":"1"}`,
		2: `{"name":"n","version":"1","title":"T"}`,
		3: `{"name":"n","version":"1","title":"T","description":"d","websiteUrl":"https://x/","icons":[{"src":"https://x/i.png","theme":"light"}]}`,
	}.each(t, func(t *testing.T, r *revision.Rules, want string) {
		same(t, r, "Implementation", s.Info(r), want)
	})
	byRevision{`{"name":"","version":""}`}.each(t, func(t *testing.T, r *revision.Rules, want string) {
		same(t, r, "Implementation", NewServer(nil).Info(r), want)
	})
}

func TestListTail(t *testing.T) {
	list := func(r *revision.Rules, cursor string, hint CacheHint) []byte {
		return append(AppendListTail([]byte(`{"tools":[]`), r, server, cursor, hint), '}')
	}
	byRevision{
		0: `{"tools":[],"nextCursor":"c"}`,
		4: `{"tools":[],"nextCursor":"c","ttlMs":60000,"cacheScope":"public"` + tail + `}`,
	}.each(t, func(t *testing.T, r *revision.Rules, want string) {
		same(t, r, "ListToolsResult", list(r, "c", CacheHint{TTL: time.Minute, Public: true}), want)
	})
	byRevision{
		0: `{"tools":[]}`,
		4: `{"tools":[],"ttlMs":0,"cacheScope":"private"` + tail + `}`,
	}.each(t, func(t *testing.T, r *revision.Rules, want string) {
		same(t, r, "ListToolsResult", list(r, "", CacheHint{TTL: -time.Second}), want)
	})
}

func TestCapabilities(t *testing.T) {
	f := Features{
		Tools: true, Resources: true, Prompts: true, ToolsChanged: true, ResourcesChanged: true,
		Subscribe: true, Completions: true,
		Extensions: map[string]string{
			"io.modelcontextprotocol/ui": `{"a":1}`, "a/b": "{\n}", "a/c": `[]`, "io.modelcontextprotocol/tasks": `{}`,
		},
	}
	const rest = `"prompts":{},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}`
	byRevision{
		0: `{"logging":{},` + rest + `}`,
		1: `{"logging":{},"completions":{},` + rest + `}`,
		2: `{"logging":{},"completions":{},` + rest + `,"extensions":{"a/b":{},"io.modelcontextprotocol/ui":{"a":1}}}`,
		4: `{"logging":{},"completions":{},` + rest + `,"extensions":{"a/b":{},"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{"a":1}}}`,
	}.each(t, func(t *testing.T, r *revision.Rules, want string) {
		same(t, r, "ServerCapabilities", Capabilities(r, f), want)
	})
	byRevision{`{"logging":{}}`}.each(t, func(t *testing.T, r *revision.Rules, want string) {
		same(t, r, "ServerCapabilities", Capabilities(r, Features{Extensions: map[string]string{"a/b": "1"}}), want)
	})
}
