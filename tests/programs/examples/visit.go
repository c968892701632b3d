package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tea is what every example's tool gives.
type tea struct {
	Tea   string `json:"tea"`
	Cups  int    `json:"cups"`
	Trace string `json:"trace"`
}

// guest is a client in one era, with what it was told and asked.
type guest struct {
	era      string
	session  *mcp.ClientSession
	progress chan *mcp.ProgressNotificationParams
	asked    chan string
}

// visit goes through all examples in one session.
func visit(ctx context.Context, r *report, w *world, era string) {
	const plenty = 1024 // more than a visit is told
	g := &guest{era: era, progress: make(chan *mcp.ProgressNotificationParams, plenty), asked: make(chan string, plenty)}
	if !r.step("edge", era+" connect", func() error { return g.connect(ctx, w.url) }) {
		return
	}
	for _, e := range w.examples {
		for _, s := range []struct {
			name string
			do   func(context.Context, *example) error
		}{
			{"lists", g.lists}, {"tool with elicitation and progress", g.tool}, {"resource by its template", g.read},
			{"completion", g.complete}, {"prompt", g.prompt},
		} {
			ok := r.step(e.name, era+" "+s.name, func() error {
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				return s.do(ctx, e)
			})
			if !ok {
				break
			}
		}
	}
	r.step("edge", era+" close", g.session.Close)
}

// connect connects a client that wants two cups of whatever it is asked about.
func (g *guest) connect(ctx context.Context, url string) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "examples", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			g.asked <- r.Params.Message
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"cups": 2}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { g.progress <- r.Params },
	})
	g.session, err = client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: g.era})
	if err != nil {
		return err
	}
	return equal("revision", g.session.InitializeResult().ProtocolVersion, g.era)
}

// lists walks through all pages of every list.
func (g *guest) lists(ctx context.Context, e *example) error {
	return errors.Join(
		listed("tools", g.session.Tools(ctx, nil), func(x *mcp.Tool) string { return x.Name }, e.prefix()+"brew"),
		listed("resources", g.session.Resources(ctx, nil), func(x *mcp.Resource) string { return x.URI }, e.uri("assam"), e.uri("oolong"), e.uri("sencha")),
		listed("templates", g.session.ResourceTemplates(ctx, nil), func(x *mcp.ResourceTemplate) string { return x.URITemplate }, e.uri("{name}")),
		listed("prompts", g.session.Prompts(ctx, nil), func(x *mcp.Prompt) string { return x.Name }, e.prefix()+"recommend"),
	)
}

// uri is the one by which the example serves a tea.
func (e *example) uri(tea string) string { return "tea://" + e.name + "/" + tea }

// listed is an error unless all wanted are among the names, in this order, which are all different.
func listed[T any](kind string, entries iter.Seq2[T, error], name func(T) string, want ...string) error {
	var names, found []string
	for x, err := range entries {
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if slices.Contains(names, name(x)) {
			return fmt.Errorf("%s: %s comes twice", kind, name(x))
		}
		if names = append(names, name(x)); slices.Contains(want, name(x)) {
			found = append(found, name(x))
		}
	}
	return equal(kind, found, want)
}

func (g *guest) tool(ctx context.Context, e *example) error {
	p := &mcp.CallToolParams{Meta: mcp.Meta{"traceparent": traceparent}, Name: e.prefix() + "brew", Arguments: map[string]any{"tea": "sencha"}}
	p.SetProgressToken(e.name)
	res, err := g.session.CallTool(ctx, p)
	if err != nil {
		return err
	}
	asked, err := next(ctx, "question", g.asked)
	if err != nil {
		return err
	}
	for cup := 1.0; cup <= 2; cup++ {
		got, err := next(ctx, "progress", g.progress)
		if err != nil {
			return err
		}
		if err := equal("progress", []any{got.ProgressToken, got.Progress, got.Total}, []any{e.name, cup, 2.0}); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return err
	}
	var got tea
	if err := json.Unmarshal(raw, &got); err != nil {
		return fmt.Errorf("the result %s: %w", raw, err)
	}
	return errors.Join(
		equal("question", asked, "How many cups of sencha?"),
		equal("result", got, tea{Tea: "sencha", Cups: 2, Trace: traceID}),
	)
}

func (g *guest) read(ctx context.Context, e *example) error {
	res, err := g.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: e.uri("sencha")})
	if err != nil {
		return err
	}
	if len(res.Contents) != 1 || !strings.HasPrefix(res.Contents[0].Text, "sencha is ") {
		return fmt.Errorf("%s: expected one text that begins with \"sencha is \", got %+v", e.uri("sencha"), res.Contents)
	}
	want := int64(-32002)
	if g.era >= "2026-07-28" {
		want = jsonrpc.CodeInvalidParams
	}
	_, err = g.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: e.uri("coffee")})
	var coded *jsonrpc.Error
	if !errors.As(err, &coded) {
		return fmt.Errorf("an unknown resource: expected the error %d, got %v", want, err)
	}
	return equal("code for an unknown resource", coded.Code, want)
}

func (g *guest) complete(ctx context.Context, e *example) error {
	res, err := g.session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: e.uri("{name}")},
		Argument: mcp.CompleteParamsArgument{Name: "name", Value: "oo"},
	})
	if err != nil {
		return err
	}
	return equal("completion", res.Completion.Values, []string{"oolong"})
}

func (g *guest) prompt(ctx context.Context, e *example) error {
	res, err := g.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: e.prefix() + "recommend", Arguments: map[string]string{"mood": "tired"}})
	if err != nil {
		return err
	}
	if len(res.Messages) != 1 {
		return fmt.Errorf("%d messages, want 1", len(res.Messages))
	}
	text, ok := res.Messages[0].Content.(*mcp.TextContent)
	if !ok {
		return fmt.Errorf("content is %T, want text", res.Messages[0].Content)
	}
	return equal("prompt", text.Text, "Recommend one of assam, oolong, sencha to a guest who feels tired.")
}

// equal is an error unless got is deeply equal to want.
func equal(what string, got, want any) error {
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return fmt.Errorf("%s: expected %#v, got %#v", what, want, got)
}

// next takes what is due from a channel.
func next[T any](ctx context.Context, what string, from <-chan T) (T, error) {
	select {
	case x := <-from:
		return x, nil
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%s: %w", what, ctx.Err())
	}
}
