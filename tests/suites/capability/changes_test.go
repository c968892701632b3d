package capability

import (
	"bytes"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// tools are the names of the tools that a client sees.
func (c *client) tools(t *testing.T) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(limit(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// comesAndGoes adds a tool and removes it, and awaits that the client is told of both.
func (c *client) comesAndGoes(t *testing.T, name string) {
	t.Helper()
	c.mu.Lock()
	before := c.changes
	c.mu.Unlock()
	c.want(t, "added", "add_tool", object{"name": name})
	c.told(t, "a change of the list", func() bool { return c.changes > before })
	await.Until(t, "the tool is listed", func() bool { return slices.Contains(c.tools(t), name) })
	c.want(t, "late", name, nil)
	c.mu.Lock()
	before = c.changes
	c.mu.Unlock()
	c.want(t, "removed", "remove_tool", object{"name": name})
	c.told(t, "another change of the list", func() bool { return c.changes > before })
	await.Until(t, "the tool is not listed", func() bool { return !slices.Contains(c.tools(t), name) })
	c.want(t, "unknown", "remove_tool", object{"name": name})
}

func TestToolsComeAndGo(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		c.comesAndGoes(t, "late_"+strings.ReplaceAll(c.InitializeResult().ProtocolVersion, "-", "_"))
	})
}

// Feeds that ended with their service are there again with its next process, at the same address.
func TestFeedsComeBack(t *testing.T) {
	runtime.LockOSThread() // to which the fixture is bound
	defer runtime.UnlockOSThread()
	addrs, err := process.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	p, err := startProgram(addrs[0], log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}()
	e := harness.Start(t, harness.Config(config.Backend{Name: "capability", Target: addrs[0]}))
	c := connect(t, e, sessions, "")
	c.comesAndGoes(t, "first")
	c.want(t, "added", "add_tool", object{"name": "lost"})
	await.Until(t, "the tool is listed", func() bool { return slices.Contains(c.tools(t), "lost") })
	if err := p.Stop(); err != nil {
		t.Errorf("the fixture did not end well while feeds were open: %v", err)
	}
	if p, err = startProgram(addrs[0], log); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the list of the new process", func() bool { return !slices.Contains(c.tools(t), "lost") })
	c.comesAndGoes(t, "second")
}

func TestSubscriptions(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		const uri = "fixture://clock"
		if err := c.Subscribe(limit(t), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		before := c.reads(t, uri)
		c.want(t, "touched", "touch", nil)
		c.told(t, "an update", func() bool { return slices.Contains(c.updated, uri) })
		if after := c.reads(t, uri); after == before {
			t.Errorf("the clock says %s still", after)
		}
	})
}

// reads is the text of a resource.
func (c *client) reads(t *testing.T, uri string) string {
	t.Helper()
	r, err := c.ReadResource(limit(t), &mcp.ReadResourceParams{URI: uri})
	if err != nil || len(r.Contents) != 1 || r.Contents[0].URI != uri {
		t.Fatalf("%s: %+v, %v", uri, r, err)
	}
	return r.Contents[0].Text
}

// isNotFound says whether an error is that of a resource that is not there, in either era.
func isNotFound(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && (e.Code == -32002 || e.Code == jsonrpc.CodeInvalidParams)
}

func TestResources(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		for uri, want := range map[string]string{
			"fixture://note": "a note ☃", "fixture://item/7": "item 7", "fixture://item/caf%C3%A9": "item café",
			"fixture://tree/root": "root", "fixture://tree/root/a/b": "root/a/b", "fixture://clock": c.reads(t, "fixture://clock"),
		} {
			if got := c.reads(t, uri); got != want {
				t.Errorf("%s: %q, want %q", uri, got, want)
			}
		}
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		r, err := c.ReadResource(limit(t), &mcp.ReadResourceParams{URI: "fixture://bytes"})
		if err != nil || !bytes.Equal(r.Contents[0].Blob, all) || r.Contents[0].MIMEType != "application/octet-stream" {
			t.Errorf("bytes: %+v, %v", r, err)
		}
		for _, uri := range []string{"fixture://gone", "fixture://unknown", "fixture://tree/x", "other://x"} {
			if r, err := c.ReadResource(limit(t), &mcp.ReadResourceParams{URI: uri}); !isNotFound(err) {
				t.Errorf("%s: %+v, %v, want that it is not found", uri, r, err)
			}
		}
		listed := map[string]string{}
		for r, err := range c.Resources(limit(t), nil) {
			if err != nil {
				t.Fatal(err)
			}
			listed[r.URI] = r.Name
		}
		for _, name := range []string{"note", "bytes", "clock", "gone"} {
			if listed["fixture://"+name] != name {
				t.Errorf("%s is not listed: %v", name, listed)
			}
		}
		if listed["fixture://tree/root"] == "" {
			t.Errorf("the provider's resource is not listed: %v", listed)
		}
	})
}

// Ten thousand entries, the most that an edge takes, are listed in pages, each once, in the same order each time.
func TestManyEntries(t *testing.T) {
	const entries = 10_000 - 5 // beside those that are always there
	c := connect(t, startEdge(t), stateless, "")
	list := func() (uris []string) {
		for r, err := range c.Resources(limit(t), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(r.URI, "fixture://many/") {
				uris = append(uris, r.URI)
			}
		}
		return uris
	}
	c.want(t, "filled", "fill", object{"entries": entries})
	defer c.want(t, "filled", "fill", object{"entries": 0})
	await.Until(t, "all are listed", func() bool { return len(list()) == entries })
	first := list()
	if !slices.Equal(first, list()) {
		t.Error("two lists differ")
	}
	slices.Sort(first)
	if got := len(slices.Compact(first)); got != entries {
		t.Errorf("%d different entries, want %d", got, entries)
	}
	if got := c.reads(t, "fixture://many/09994"); got != "many-09994" {
		t.Errorf("the last entry is %q", got)
	}
}

func TestCompletion(t *testing.T) {
	item := &mcp.CompleteReference{Type: "ref/resource", URI: "fixture://item/{id}"}
	greet := &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}
	eras(t, func(t *testing.T, c *client) {
		for _, q := range []struct {
			ref         *mcp.CompleteReference
			name, value string
			want        []string
		}{
			{item, "id", "ap", []string{"apple", "apricot"}}, {item, "id", "", []string{"apple", "apricot", "banana"}}, {item, "id", "z", nil},
			{greet, "mood", "c", []string{"calm", "cheerful", "cross"}}, {greet, "mood", "che", []string{"cheerful"}}, {greet, "name", "c", nil},
		} {
			r, err := c.Complete(limit(t), &mcp.CompleteParams{Ref: q.ref, Argument: mcp.CompleteParamsArgument{Name: q.name, Value: q.value}})
			if err != nil || !slices.Equal(r.Completion.Values, q.want) || r.Completion.HasMore {
				t.Errorf("%s %q: %+v, %v, want %q", q.name, q.value, r, err, q.want)
			}
		}
	})
}

func TestPrompts(t *testing.T) {
	eras(t, func(t *testing.T, c *client) {
		for want, arguments := range map[string]map[string]string{
			"Greet Ada": {"name": "Ada"}, "Greet Ada ☃, calm": {"name": "Ada ☃", "mood": "calm"},
		} {
			r, err := c.GetPrompt(limit(t), &mcp.GetPromptParams{Name: "greet", Arguments: arguments})
			if err != nil || len(r.Messages) != 1 || r.Messages[0].Role != "user" || r.Messages[0].Content.(*mcp.TextContent).Text != want {
				t.Errorf("%v: %+v, %v, want %q", arguments, r, err, want)
			}
		}
		r, err := c.GetPrompt(limit(t), &mcp.GetPromptParams{Name: "seen"})
		if err != nil || len(r.Messages) != 2 || r.Messages[1].Role != "assistant" || !bytes.Equal(r.Messages[1].Content.(*mcp.ImageContent).Data, three) {
			t.Errorf("seen: %+v, %v", r, err)
		}
		for name, arguments := range map[string]map[string]string{"greet": {"mood": "calm"}, "unknown": nil} {
			if r, err := c.GetPrompt(limit(t), &mcp.GetPromptParams{Name: name, Arguments: arguments}); err == nil {
				t.Errorf("%s with %v: %+v, want an error", name, arguments, r)
			}
		}
	})
}
