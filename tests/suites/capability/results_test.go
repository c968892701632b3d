package capability

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/edge/check/lint"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/numbers"
)

var three = []byte{0, 1, 255}

func TestContent(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		r := c.call(t, "content", nil)
		want := []mcp.Content{
			&mcp.TextContent{Text: "snow ☃ 雪 𝄞", Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5}},
			&mcp.ImageContent{Data: three, MIMEType: "image/png"}, &mcp.AudioContent{Data: three, MIMEType: "audio/wav"},
			&mcp.ResourceLink{URI: "fixture://note", Name: "note"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "fixture://inside", MIMEType: "text/plain", Text: "inside"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "fixture://bytes", MIMEType: "application/octet-stream", Blob: three}},
		}
		if len(r.Content) != len(want) {
			t.Fatalf("%d blocks, want %d", len(r.Content), len(want))
		}
		for i, block := range r.Content {
			if !reflect.DeepEqual(block, want[i]) {
				t.Errorf("block %d: %+v, want %+v", i, block, want[i])
			}
		}
		if r.Meta["fixture/kind"] != "all" || r.IsError || r.StructuredContent != nil {
			t.Errorf("_meta %v, isError %t, structured content %v", r.Meta, r.IsError, r.StructuredContent)
		}
	})
}

// Typed arguments come as they were sent, defaults filled in, and go back the same.
func TestTyped(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		for name, arguments := range map[string]object{
			"largest": {"count": float64(1<<53 - 1), "share": 1e308, "text": "snow ☃ 雪 𝄞\n\"\\", "color": "green", "tags": []any{"", "b"}},
			"least":   {"count": 1.0, "share": 5e-324, "text": ""},
			"long":    {"count": 1.0, "share": -0.1, "text": strings.Repeat("𝄞", 100)},
		} {
			want := object{"color": "red", "tags": []any{}}
			for k, v := range arguments {
				want[k] = v
			}
			r := c.call(t, "typed", arguments)
			if !reflect.DeepEqual(r.StructuredContent, any(want)) || r.IsError {
				t.Errorf("%s: %v, want %v", name, r.StructuredContent, want)
			}
		}
	})
}

// Schemas of arguments have no references and no combinators at the root, which interfaces of models refuse, and types that
// contain themselves take values of any depth.
func TestSchemasOfArguments(t *testing.T) {
	c := connect(t, startEdge(t, func(c *config.Config) { c.Lists.Schemas = config.SchemasFull }), stateless, "")
	tools, err := c.ListTools(limit(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		text, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		for _, broken := range lint.Check(lint.Tool{Name: tool.Name, Schema: string(text)}) {
			asks := broken.Profile == lint.Anthropic || broken.Profile == lint.OpenAI || broken.Rule == "references"
			if asks && tool.Name != "echo" { // its schema is written by hand
				t.Errorf("%s: %s, in %s", tool.Name, broken, text)
			}
		}
		if tool.Name != "trees" {
			continue
		}
		root, _ := tool.InputSchema.(object)
		for _, side := range []string{"left", "right"} {
			tree := member(root, "properties", side)
			child := member(tree, "properties", "children", "items")
			if tree["type"] != "object" || member(tree, "properties", "name")["type"] != "string" || child["type"] != "object" || child["properties"] != nil {
				t.Errorf("%s: %s, want a tree whose children are any objects", side, text)
			}
		}
	}
	leaf := func(name any) object { return object{"name": name} }
	deep := func(name any) object {
		return object{"name": "a", "children": []any{leaf("b"), object{"name": "c", "children": []any{
			object{"name": "d", "children": []any{leaf(name)}}}}}}
	}
	c.want(t, "a b c d e f", "trees", object{"left": deep("e"), "right": leaf("f")})
	c.want(t, "f a b c d e", "trees", object{"left": leaf("f"), "right": deep("e")})
	if r, err := c.try(limit(t), "trees", object{"left": deep(7), "right": leaf("f")}); err == nil && !r.IsError {
		t.Errorf("a name that is a number, at a depth that the schema does not show: %+v, want an error", r)
	}
}

// member is what stands in an object below the names; nil: there is nothing.
func member(o object, names ...string) object {
	for _, name := range names {
		o, _ = o[name].(object)
	}
	return o
}

// Open JSON keeps the text of its numbers.
func TestNumbers(t *testing.T) {
	e := startEdge(t)
	const numbers = `{"a":9007199254740993,"b":9223372036854775807,"c":-9223372036854775808,"d":18446744073709551616,` +
		`"e":1e308,"f":-0.0,"g":1.10,"h":1E+2,"i":0.1000000000000000055511151231257827,"j":[{"z":1.0,"a":2.0}]}`
	if raw := callRaw(t, e.URL, "echo", numbers); !bytes.Contains(raw, []byte(`"structuredContent":`+numbers)) {
		t.Errorf("%s\nwant the structured content %s", raw, numbers)
	}
}

// callRaw calls a tool with arguments as they are written, and gives the message that came.
func callRaw(t *testing.T, url, tool, arguments string) []byte {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(limit(t), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": stateless, "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Numbers of typed arguments mean what JSON Schema says, however they are written: 5.0 and 1e2 are integers, 1.5 is none, and bounds are those
// of the number, not of its nearest double.
func TestNumbersOfArguments(t *testing.T) {
	e := startEdge(t)
	call := func(count, share string) (structured object, raw []byte) {
		raw = callRaw(t, e.URL, "typed", `{"count":`+count+`,"share":`+share+`,"text":""}`)
		var m struct {
			Result struct {
				IsError           bool
				StructuredContent object
			}
			Error *struct{ Code int }
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if refused := m.Result.IsError || m.Error != nil && m.Error.Code == jsonrpc.CodeInvalidParams; refused != (m.Result.StructuredContent == nil) {
			t.Errorf("count %s, share %s gave %s, want a result, or that it is refused", count, share, raw)
		}
		return m.Result.StructuredContent, raw
	}
	for _, n := range numbers.All {
		if got, raw := call(n.Text, "1"); n.Within("1", "9007199254740991") && got["count"] != n.Double {
			t.Errorf("count %s gave %s, want %v", n.Text, raw, n.Double)
		} else if !n.Within("1", "9007199254740991") && got != nil {
			t.Errorf("count %s gave %s, want that it is refused", n.Text, raw)
		}
		if got, raw := call("1", n.Text); got["share"] != n.Double {
			t.Errorf("share %s gave %s, want %v", n.Text, raw, n.Double)
		}
	}
	for _, count := range append([]string{`"5"`, "true", "[5]"}, numbers.Beyond...) {
		if got, raw := call(count, "1"); got != nil {
			t.Errorf("count %s gave %s, want that it is refused", count, raw)
		}
	}
}

func TestLargeResults(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		for _, n := range []int{0, 1, 1 << 20, 6 << 20} {
			if got := c.says(t, "large", object{"bytes": n}); got != strings.Repeat("x", n) {
				t.Errorf("%d bytes came, want %d", len(got), n)
			}
		}
	})
}

// A result that no message can hold is an error of the protocol, which neither a model nor waiting mends, and the next call is served.
func TestTooLargeResults(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		var wire *jsonrpc.Error
		if r, err := c.try(limit(t), "large", object{"bytes": 17 << 20}); !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInternalError {
			t.Errorf("%v, %v, want code %d", r, err, jsonrpc.CodeInternalError)
		}
		c.want(t, "counted to 0", "count", object{"to": 0})
	})
}

// traces are what a stack shows in one of the languages.
var traces = []string{"secret-of-the-program", "goroutine ", "Traceback", ".go:", ".py\"", ".ts:", ".js:", ".java:", ".rs:", "node_modules"}

// What a model can act on is a result; other failures are errors of the protocol. A mistake of the program shows none
// of its inside, and keeps nobody from calling again.
func TestFailures(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		for kind, want := range map[string]string{"plain": "out of paper", "invalid": "no such tray"} {
			r := c.call(t, "fail", object{"kind": kind})
			if len(r.Content) != 1 || !r.IsError || r.Content[0].(*mcp.TextContent).Text != want {
				t.Errorf("%s: %+v, want isError and %q", kind, r, want)
			}
		}
		for kind, want := range map[string]string{"unavailable": "the printer is off", "denied": "not yours", "fault": ""} {
			r, err := c.try(limit(t), "fail", object{"kind": kind})
			if err == nil {
				t.Errorf("%s: %+v, want an error", kind, r)
				continue
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", kind, err, want)
			}
			for _, trace := range traces {
				if strings.Contains(err.Error(), trace) {
					t.Errorf("%s: %v has %q", kind, err, trace)
				}
			}
		}
		c.want(t, "counted to 0", "count", object{"to": 0})
	})
}

// Arguments that do not fit never reach a handler.
func TestBadArguments(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		for name, arguments := range map[string]object{
			"missing": {"count": 1, "share": 1}, "type": {"count": "1", "share": 1, "text": ""}, "bound": {"count": 0, "share": 1, "text": ""},
			"enum": {"count": 1, "share": 1, "text": "", "color": "blue"}, "fraction": {"count": 1.5, "share": 1, "text": ""},
			"long": {"count": 1, "share": 1, "text": strings.Repeat("x", 101)}, "items": {"count": 1, "share": 1, "text": "", "tags": []int{1}},
		} {
			if r, err := c.try(limit(t), "typed", arguments); err == nil && !r.IsError {
				t.Errorf("%s: %+v, want an error", name, r)
			}
		}
		if r, err := c.try(limit(t), "no_such_tool", nil); err == nil {
			t.Errorf("an unknown tool gave %+v", r)
		}
	})
}

// A handler knows who is calling, and nobody else's call.
func TestCaller(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, fmt.Appendf(nil, "- {name: alice, sha256: %x}\n", sha256.Sum256([]byte("key-of-alice"))), 0o600); err != nil {
		t.Fatal(err)
	}
	e := startEdge(t, func(c *config.Config) {
		c.Listen.PublicURL, c.Auth = "https://mcp.example", &config.Auth{APIKeys: keys}
	})
	open := startEdge(t)
	for _, version := range []string{sessions, stateless} {
		ids := map[any]bool{}
		for want, c := range map[string]*client{"alice": connect(t, e, version, "key-of-alice"), "": connect(t, open, version, "")} {
			for range 2 {
				got, _ := c.call(t, "whoami", nil).StructuredContent.(object)
				if got["subject"] != want || got["client"] != "shared-suite" || got["round"] != 1.0 || got["attempt"] != 1.0 ||
					ids[got["call"]] || got["call"] == "" {
					t.Errorf("%s: %v, want the subject %q and a call of its own", version, got, want)
				}
				ids[got["call"]] = true
			}
		}
	}
}
