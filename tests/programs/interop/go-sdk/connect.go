//lint:file-ignore SA1019 Sampling, roots and logging are served for as long as the protocol has them.

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// visit is a client in one revision, with what it was told and asked.
type visit struct {
	options options
	version string
	session *mcp.ClientSession

	progress chan *mcp.ProgressNotificationParams
	logs     chan *mcp.LoggingMessageParams
	updated  chan string // URIs of resources
	asked    chan string // messages of elicitations
}

func newVisit(o options, version string) *visit {
	const plenty = 4096 // more than a visit is told
	return &visit{
		options: o, version: version,
		progress: make(chan *mcp.ProgressNotificationParams, plenty), logs: make(chan *mcp.LoggingMessageParams, plenty),
		updated: make(chan string, plenty), asked: make(chan string, plenty),
	}
}

// modern reports whether the revision has no sessions.
func (v *visit) modern() bool { return v.version >= "2026-07-28" }

// connect connects a client that answers whatever it is asked.
func (v *visit) connect(ctx context.Context) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go-sdk", Version: "1.0.0"}, &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "interop-model", Content: &mcp.TextContent{Text: "Take the first."}}, nil
		},
		ElicitationHandler:          v.answer,
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { v.progress <- r.Params },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { v.logs <- r.Params },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { v.updated <- r.Params.URI },
	})
	client.AddRoots(&mcp.Root{URI: "file:///project/a", Name: "A"})
	// The connection outlives the step.
	v.session, err = client.Connect(context.WithoutCancel(ctx), v.transport(), &mcp.ClientSessionOptions{ProtocolVersion: v.version})
	if err != nil {
		return err
	}
	got := v.session.InitializeResult()
	fmt.Println("speaks", got.ProtocolVersion)
	return equal("revision and server", []string{got.ProtocolVersion, got.ServerInfo.Name}, []string{v.version, "mcpedge"})
}

func (v *visit) transport() mcp.Transport {
	switch o := v.options; {
	case o.url != "":
		return &mcp.StreamableClientTransport{Endpoint: o.url}
	case o.sse != "":
		return &mcp.SSEClientTransport{Endpoint: o.sse}
	default:
		cmd := exec.Command(o.command[0], o.command[1:]...)
		cmd.Stderr = os.Stderr
		// A program that does not end with its input is terminated, which Close reports.
		return &mcp.CommandTransport{Command: cmd, TerminateDuration: 2 * time.Second}
	}
}

// answer fills in the forms of book_trip.
func (v *visit) answer(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	v.asked <- r.Params.Message
	if strings.HasPrefix(r.Params.Message, "Book ") {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "aisle", "room": "suite", "insurance": true}}, nil
}
