// Command sdk serves the benchmark's tool with the official Go SDK, in process and with JSON
// responses or resumable event streams: what a team would write without an edge.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type args struct {
	Text string `json:"text"`
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	stateless := flag.Bool("stateless", false, "serve without sessions")
	events := flag.Bool("events", false, "answer with event streams that can be resumed, kept in memory")
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Echo a text"},
		func(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "tick", Description: "Report progress with the time it was sent at"}, tick)
	options := &mcp.StreamableHTTPOptions{JSONResponse: !*events, Stateless: *stateless}
	if *events {
		options.EventStore = mcp.NewMemoryEventStore(nil)
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(http.Serve(l, handler))
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
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ticked"}}}, nil, nil
}
