package client

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// remover returns the URL of an edge with two tools: one asks two consecutive questions, the other
// requests the visit of a URL.
func remover(t *testing.T) (url string) {
	t.Helper()
	s := capability.New("fixture", "1")
	capability.AddTool(s, "remove", "Removes. With care.", func(_ context.Context, c *capability.Call, in struct {
		Path  string `json:"path"`
		Force bool   `json:"force,omitempty"`
	},
	) (string, error) {
		sure, err := capability.Ask[struct {
			Sure bool `json:"sure"`
		}](c, "sure", "Really remove "+in.Path+"?")
		if err != nil || !sure.Sure {
			return "kept", err
		}
		why, err := capability.Ask[struct {
			Why string `json:"why"`
		}](c, "why", "Why?")
		return "removed " + in.Path + " " + why.Why, err
	})
	capability.AddTool(s, "login", "Logs in", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		return string(c.AskURL("page", "Log in", "https://id.example/login").Action), nil
	})
	capability.AddTool(s, "add", "Asks nothing", func(context.Context, *capability.Call, struct{}) (string, error) { return "3", nil })
	greet := &capability.Prompt{Name: "greet", Description: "Greets", Arguments: []*capability.PromptArgument{{Name: "name", Required: true}, {Name: "tone"}}}
	capability.AddPrompt(s, greet, func(_ context.Context, _ *capability.Call, in map[string]string) (string, error) {
		return "hello " + in["name"], nil
	})
	return harness.Start(t, harness.Config(harness.Serve(t, "fixture", s).Backend())).URL
}

// TestAnswers: questions are answered by their keys, or in their order in a revision without keys.
// A question without an answer is declined, and the output shows the flag to add.
func TestAnswers(t *testing.T) {
	url := remover(t)
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			for name, c := range map[string]struct {
				tool        string
				answers     []string
				out, stderr string
				err         string
			}{
				"both":      {"remove", []string{`sure={"sure":true}`, `why={"why":"old"}`}, "removed x old\n", "asked: Really remove x?", ""},
				"an action": {"remove", []string{`sure={"action":"accept","content":{"sure":false}}`}, "kept\n", "asked", ""},
				"declined":  {"remove", []string{`sure={"action":"decline"}`}, "", "asked", "remove failed"},
				"none":      {"remove", nil, "", `{"sure":true}'`, "remove failed"},
				"the first": {"remove", []string{`sure={"sure":true}`}, "", `{"why":"…"}'`, "remove failed"},
				"a URL":     {"login", []string{`page={"action":"accept"}`}, "accept\n", "open: https://id.example/login", ""},
				"no URL":    {"login", nil, "decline\n", `='{"action":"accept"}'`, ""},
			} {
				if c.tool == "login" && revision < "2025-11-25" {
					continue // 2025-11-25 introduced URLs
				}
				args := []string{"--protocol-version", revision, url, c.tool, `{"path":"x"}`}
				if c.tool == "login" {
					args = args[:4]
				}
				for _, a := range c.answers {
					args = append(args, "--answer", a)
				}
				var out, stderr bytes.Buffer
				err := Call(t.Context(), args, "test", &out, &stderr)
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) ||
					c.out != "" && out.String() != c.out || !strings.Contains(stderr.String(), c.stderr) {
					t.Errorf("%s: %q, %q, %v", name, &out, &stderr, err)
				}
				if key := "--answer sure="; name == "none" && revision >= "2026" && !strings.Contains(stderr.String(), key) {
					t.Errorf("%q does not say %q", &stderr, key)
				}
			}
		})
	}
}

// TestBadAnswers: an invalid answer is refused before the call.
func TestBadAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		`{"sure":true}`:                        "write it as KEY=JSON",
		`=x`:                                   "write it as KEY=JSON",
		`sure=yes`:                             "not a JSON object",
		`sure=null`:                            "not a JSON object",
		`sure={"action":"accept","content":1}`: "content alone",
		`sure={"action":"accept","sure":true,"x":1}`: "content alone",
	} {
		err := Call(t.Context(), []string{"--answer", answer, "http://127.0.0.1:1/mcp", "x"}, "test", &bytes.Buffer{}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", answer, err, want)
		}
	}
}

// TestList: each entry of a server is printed as a line, or whole as JSON.
func TestList(t *testing.T) {
	url := remover(t)
	var out bytes.Buffer
	if err := List(t.Context(), []string{url}, "test", &out, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	const want = "tool remove path [force] Removes|tool login Logs in|tool add Asks nothing|prompt greet name [tone] Greets"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	out.Reset()
	if err := List(t.Context(), []string{"--json", url}, "test", &out, &bytes.Buffer{}); err != nil || !strings.Contains(out.String(), `"resourceTemplates": []`) ||
		!strings.Contains(out.String(), `"inputSchema"`) {
		t.Errorf("%s, %v", &out, err)
	}
	for want, args := range map[string][]string{"write mcpedge list URL": nil, "is not a URL": {"x"}, "2 arguments": {url, "x"}} {
		if err := List(t.Context(), args, "test", &out, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", args, err, want)
		}
	}
}
