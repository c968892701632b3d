// Command sdk serves the benchmark's tools with the official Go SDK, in process and with JSON
// responses or event streams: what a team would write without an edge.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/bench/internal/fixture"
	"github.com/mcpedge/mcpedge/bench/internal/serve"
)

func main() {
	stateless := flag.Bool("stateless", false, "serve without sessions")
	events := flag.Bool("events", false, "answer with event streams; within sessions they can be resumed, kept in memory")
	tools := flag.Int("tools", fixture.Called, "how many tools to offer in all")
	page := flag.Int("page-size", 0, "entries on one page of a list; 0: the SDK's default")
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, &mcp.ServerOptions{PageSize: *page})
	addCalled(server)
	for i := range *tools - fixture.Called {
		name, description, schema := fixture.Listed(i)
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)},
			func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
				return text(name), nil, nil
			})
	}
	options := &mcp.StreamableHTTPOptions{JSONResponse: !*events, Stateless: *stateless}
	if *events && !*stateless {
		options.EventStore = mcp.NewMemoryEventStore(nil)
	}
	serve.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options))
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// addCalled adds what the cases call.
func addCalled(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Echo a text"},
		func(_ context.Context, _ *mcp.CallToolRequest, in fixture.Text) (*mcp.CallToolResult, any, error) {
			return text(in.Text), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greet by a name"},
		func(_ context.Context, _ *mcp.CallToolRequest, in fixture.Greeting) (*mcp.CallToolResult, any, error) {
			return text(in.String()), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "length", Description: "Count the bytes of a text"},
		func(_ context.Context, _ *mcp.CallToolRequest, in fixture.Text) (*mcp.CallToolResult, any, error) {
			return text(strconv.Itoa(len(in.Text))), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "big", Description: "Answer with a long text"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text(fixture.BigText), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "measure", Description: "Answer with structured content"},
		func(_ context.Context, _ *mcp.CallToolRequest, in fixture.Text) (*mcp.CallToolResult, fixture.Measured, error) {
			return nil, fixture.Measure(in.Text), nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "tick", Description: "Report progress with the time it was sent at"}, tick)
	mcp.AddTool(server, &mcp.Tool{Name: "change", Description: "Change the list of tools, and answer with the time"}, changer(server))
	server.AddResource(&mcp.Resource{URI: fixture.BlobURI, Name: "blob", MIMEType: fixture.BlobType},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
				{URI: fixture.BlobURI, MIMEType: fixture.BlobType, Blob: fixture.Blob}}}, nil
		})
}

type tickArgs struct {
	Events int `json:"events"`
}

// tick sends progress whose message is the time in Unix nanoseconds.
func tick(ctx context.Context, req *mcp.CallToolRequest, in tickArgs) (*mcp.CallToolResult, any, error) {
	for i := range in.Events {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.Events),
			Message: strconv.FormatInt(time.Now().UnixNano(), 10),
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return text("ticked"), nil, nil
}

// changer makes the tool that adds another to the list or, when it is there, removes it. The time it
// answers with, in Unix nanoseconds, is that of the change.
func changer(server *mcp.Server) mcp.ToolHandlerFor[struct{}, any] {
	var mu sync.Mutex
	there := false
	return func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now().UnixNano()
		if there {
			server.RemoveTools(fixture.Changing)
		} else {
			mcp.AddTool(server, &mcp.Tool{Name: fixture.Changing, Description: "Here for a while"},
				func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
					return text(""), nil, nil
				})
		}
		there = !there
		return text(fmt.Sprintf("changed at %d", now)), nil, nil
	}
}
