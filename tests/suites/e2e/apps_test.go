package e2e

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/mcpedge/mcpedge/examples/apps/dice"
)

// TestApps: what makes an MCP App passes as the backend wrote it, in each revision that has `_meta` on tools. In others the
// tool is a plain one, and its page a plain resource.
func TestApps(t *testing.T) {
	e := startEdge(t, only(startService(t, dice.New())))
	for _, version := range stateful {
		t.Run(version, func(t *testing.T) {
			s := newSession(t, e.URL, version)
			checkApp(t, s, dig(s.hello, "capabilities"), version >= vJun)
		})
	}
	t.Run(v2026, func(t *testing.T) {
		c := newStateless(t, e.URL)
		checkApp(t, c, c.request("server/discover", nil).want(http.StatusOK).result()["capabilities"], true)
	})
}

func checkApp(t *testing.T, c asker, capabilities any, carried bool) {
	t.Helper()
	is := func(what string, got any, want string) {
		t.Helper()
		var value any
		if carried {
			if err := json.Unmarshal([]byte(want), &value); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got, value) {
			t.Errorf("%s is %v, want %v", what, got, value)
		}
	}
	is("the extension", dig(capabilities, "extensions", "io.modelcontextprotocol/ui"), `{}`)
	if dig(capabilities, "experimental") != nil {
		t.Errorf("capabilities are %v", capabilities)
	}
	tools := c.ask("tools/list", `{}`).result()
	is("_meta of roll", dig(tools, "tools", 0, "_meta"), `{"ui":{"resourceUri":"ui://dice/board"}}`)
	is("_meta of reroll", dig(tools, "tools", 1, "_meta"), `{"ui":{"resourceUri":"ui://dice/board","visibility":["app"]}}`)
	const page = `{"ui":{"csp":{"connectDomains":[],"resourceDomains":[]},"prefersBorder":true}}`
	listed := dig(c.ask("resources/list", `{}`).result(), "resources", 0)
	is("_meta of the page", dig(listed, "_meta"), page)
	read := dig(c.ask("resources/read", `{"uri":"ui://dice/board"}`).result(), "contents", 0)
	is("_meta of what the page holds", dig(read, "_meta"), page)
	for _, one := range []any{listed, read} {
		if dig(one, "uri") != "ui://dice/board" || dig(one, "mimeType") != "text/html;profile=mcp-app" {
			t.Errorf("the page is %v", one)
		}
	}
	thrown := c.ask("tools/call", `{"name":"roll","arguments":{"dice":2}}`).result()
	if dig(thrown, "content", 0, "type") != "text" || dig(thrown, "_meta", "dice/faces") == nil {
		t.Errorf("the result is %v", thrown)
	}
	if has := dig(thrown, "structuredContent", "total") != nil; has != carried {
		t.Errorf("the result is %v", thrown)
	}
}
