package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/frame"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

var hiddenAttacks = []attack{
	{name: "catalog-hidden", what: "a tool and a prompt that the catalog hides, held against those that do not exist: with headers, tasks, states, answers, over REST, as changes", run: catalogHidden},
}

// closet is a backend with a tool and a prompt that are hidden, and one of each that are shown. What is hidden is listed differently each time.
type closet struct {
	pb.UnimplementedToolServiceServer
	pb.UnimplementedPromptServiceServer
	lists, asked atomic.Int64
}

func (c *closet) register(s *grpc.Server) {
	pb.RegisterToolServiceServer(s, c)
	pb.RegisterPromptServiceServer(s, c)
}

// ListTools implements the contract.
func (c *closet) ListTools(context.Context, *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	n := c.lists.Add(1)
	return &pb.ListToolsResponse{Tools: []*pb.Tool{
		{Name: "shown"},
		{Name: "closet", Description: fmt.Sprint("list ", n), TaskSupport: &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_REQUIRED},
			InputSchemaJson: `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"],"additionalProperties":false}`},
	}}, nil
}

// ListPrompts implements the contract.
func (c *closet) ListPrompts(context.Context, *pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
	return &pb.ListPromptsResponse{Prompts: []*pb.Prompt{
		{Name: "shown"}, {Name: "closet", Description: fmt.Sprint("list ", c.lists.Load()), Arguments: []*pb.PromptArgument{{Name: "region", Required: true}}},
	}}, nil
}

// CallTool implements the contract.
func (c *closet) CallTool(in *pb.CallToolRequest, s stream) error {
	if in.GetName() == "closet" {
		c.asked.Add(1)
	}
	return say(s, "said")
}

// GetPrompt implements the contract.
func (c *closet) GetPrompt(in *pb.GetPromptRequest, _ grpc.ServerStreamingServer[pb.GetPromptResponse]) error {
	if in.GetName() == "closet" {
		c.asked.Add(1)
	}
	return nil
}

// CompletePrompt implements the contract.
func (c *closet) CompletePrompt(_ context.Context, in *pb.CompletePromptRequest) (*pb.CompletePromptResponse, error) {
	if in.GetName() == "closet" { // The edge asks with an empty name whether the method is there.
		c.asked.Add(1)
	}
	return &pb.CompletePromptResponse{Values: []string{"x"}}, nil
}

// closetRules limit calls of the hidden tool and need a scope for it, which callers must not learn from.
const closetRules = `catalog:
  tools: [{backend: closet, tool: "clos*", hide: true}]
  prompts: [{backend: closet, prompt: closet, hide: true}]
policy: {default: allow, scopes: [{tools: [closet], need: [closet]}]}
quotas: [{per: principal, tools: [closet], rate: 1/1m, burst: 1}]`

func catalogHidden(ctx context.Context, s *site) error {
	b := &closet{}
	return withServer("closet", closetRules, b.register, func(ctx context.Context, s *site, r *ruled) error {
		c := r.as(s, nil)
		defer c.close()
		session, err := c.hello(ctx, `{"name":"looker","version":"1"}`)
		if err != nil {
			return err
		}
		err = errors.Join(c.hiddenAsUnknown(ctx, session), r.hiddenOverREST(ctx), c.changesNothing(ctx, session, b))
		if n := b.asked.Load(); n > 0 {
			err = errors.Join(err, fmt.Errorf("the backend was asked %d times for what is hidden", n))
		}
		return err
	})(ctx, s)
}

// hiddenAsUnknown holds requests that name what is hidden against those that name nothing, several times each, so that a quota would be spent.
func (r *rogue) hiddenAsUnknown(ctx context.Context, session string) (err error) {
	const none = "closed"
	name := func(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }
	for _, c := range []struct {
		method, members string
		header          []string
	}{
		{"tools/call", `"name":"NAME","arguments":{"region":"eu"}`, []string{"Mcp-Param-Region", "eu"}},
		{"tools/call", `"name":"NAME","arguments":{"region":"eu"}`, []string{"Mcp-Param-Region", "us"}},
		{"tools/call", `"name":"NAME","arguments":{"region":"eu"}`, nil},
		{"tools/call", `"name":"NAME","arguments":{"region":7}`, nil},
		{"tools/call", `"name":"NAME","arguments":{"x":1,"x":2}`, nil},
		{"tools/call", `"name":"NAME","arguments":7`, nil},
		{"tools/call", `"name":"NAME"`, nil},
		{"tools/call", `"name":"NAME","task":{"ttl":60000},"arguments":{}`, nil},
		{"tools/call", `"name":"NAME","arguments":{},"requestState":"AAAA","inputResponses":{"a":{"action":"accept"}}`, nil},
		{"tools/call", `"name":"NAME","arguments":{},"inputResponses":{"a":{"action":"accept"}}`, nil},
		{"prompts/get", `"name":"NAME","arguments":{"region":"eu"}`, nil},
		{"prompts/get", `"name":"NAME"`, nil},
		{"prompts/get", `"name":"NAME","arguments":{"region":7}`, nil},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"region","value":""}`, nil},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"none","value":""}`, nil},
	} {
		for _, era := range []string{"", session, "task"} {
			ask := func(target string) (*answer, error) {
				header := name("NAME", target)
				if c.method == "completion/complete" {
					header = ""
				}
				switch {
				case era == "task" && c.method == "tools/call":
					return r.send(ctx, http.MethodPost, r.taskBody(c.method, ","+name(c.members, target)), append(modernHeader(c.method, header), c.header...)...)
				case era == "" || era == "task":
					return r.send(ctx, http.MethodPost, r.modernBody(c.method, ","+name(c.members, target)), append(modernHeader(c.method, header), c.header...)...)
				}
				return r.legacy(ctx, era, c.method, "{"+name(c.members, target)+"}")
			}
			for range 2 {
				got, e := ask("closet")
				unknown, e2 := ask(none)
				if e := errors.Join(e, e2); e != nil {
					return e
				}
				if e := alike(got, unknown, "closet", none); e != nil {
					err = errors.Join(err, fmt.Errorf("%s %s %v, era %.4q: %w", c.method, c.members, c.header, era, e))
				}
			}
		}
	}
	for _, method := range []string{"tools/list", "prompts/list"} {
		a, e := r.modern(ctx, method, "", "")
		b, e2 := r.legacy(ctx, session, method, "{}")
		if e := errors.Join(e, e2); e != nil {
			return e
		}
		for _, a := range []*answer{a, b} {
			if bytes.Contains(a.body, []byte("closet")) || !bytes.Contains(a.body, []byte(`"shown"`)) {
				err = errors.Join(err, fmt.Errorf("%s: %.400s", method, a.body))
			}
		}
	}
	return err
}

// hiddenOverREST holds an operator's calls of what is hidden against those of what does not exist.
func (r *ruled) hiddenOverREST(ctx context.Context) (err error) {
	operator := r.lock.Token("olga", r.url(), map[string]any{"scope": "mcp:operate"})
	for _, one := range []struct{ method, path string }{
		{http.MethodPost, "/v1/tools/NAME:call"}, {http.MethodGet, "/v1/tools/NAME"}, {http.MethodGet, "/v1/prompts/NAME"}, {http.MethodPost, "/v1/prompts/NAME:get"},
	} {
		ask := func(name string) (*answer, error) {
			c := r.fleet.admin(strings.ReplaceAll(one.path, "NAME", name))
			defer c.close()
			body := ""
			if one.method == http.MethodPost {
				body = `{"arguments":{"region":"eu"}}`
			}
			return c.send(ctx, one.method, body, "Authorization", "Bearer "+operator)
		}
		got, e := ask("closet")
		unknown, e2 := ask("closed")
		if e := errors.Join(e, e2); e != nil {
			return e
		}
		if first, second := strings.ReplaceAll(string(got.body), "closet", ""), strings.ReplaceAll(string(unknown.body), "closed", ""); got.status != unknown.status || first != second {
			err = errors.Join(err, fmt.Errorf("%s %s: %v; of what does not exist: %v", one.method, one.path, got, unknown))
		}
	}
	return err
}

// changesNothing listens in both eras while hidden entries change with each list: no caller may be
// notified, because none sees a change.
func (r *rogue) changesNothing(ctx context.Context, session string, b *closet) error {
	limited, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	modern, err := r.open(limited, http.MethodPost, r.modernBody("subscriptions/listen", `,"notifications":{"toolsListChanged":true,"promptsListChanged":true}`),
		modernHeader("subscriptions/listen", "")...)
	if err != nil {
		return err
	}
	defer modern.Body.Close()
	legacy, err := r.open(limited, http.MethodGet, "", sessionHeader(session)...)
	if err != nil {
		return err
	}
	defer legacy.Body.Close()
	told := make(chan string, 2)
	for _, resp := range []*http.Response{modern, legacy} {
		go func() {
			events := frame.NewReader(resp.Body, 1<<20)
			for {
				ev, err := events.Next()
				if err != nil {
					told <- ""
					return
				}
				if bytes.Contains(ev.Data, []byte("list_changed")) {
					told <- string(ev.Data)
					return
				}
			}
		}()
	}
	// Each reading lists something else.
	for before, end := b.lists.Load(), time.Now().Add(slack); b.lists.Load() < before+4; pause(ctx, 50*time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("the lists are not read again")
		}
	}
	pause(ctx, time.Second) // a change would be reported within it
	cancel()
	for range 2 {
		if text := <-told; text != "" {
			err = errors.Join(err, fmt.Errorf("a change of what is hidden is told: %.200s", text))
		}
	}
	return err
}
