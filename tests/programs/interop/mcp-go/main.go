// Command mcp-go drives an edge with the client of mark3labs/mcp-go, in both eras; HTTP+SSE has the former only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	library = "github.com/mark3labs/mcp-go"
	// patience bounds every step.
	patience = 60 * time.Second
)

// options is what the command line says: where the edge is.
type options struct {
	dir, url, cut, drain, sse string

	command []string // that serves on its standard input and output
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "directory that is served as file: resources")
	flag.StringVar(&o.url, "url", "", "Streamable HTTP endpoint")
	flag.StringVar(&o.cut, "cut", "", "address that breaks all connections when it is posted to")
	flag.StringVar(&o.drain, "drain", "", "address that ends the replica which serves the most calls when it is posted to")
	flag.StringVar(&o.sse, "sse", "", "HTTP+SSE endpoint")
	flag.Parse()
	o.command = flag.Args()
	if o.dir == "" || o.url == "" && o.sse == "" && len(o.command) == 0 {
		fmt.Fprintln(os.Stderr, "give --dir DIR, and one of: --url URL with --cut URL or --drain URL, --sse URL, -- COMMAND ARGUMENTS…")
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Println("FAILED", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == library {
				fmt.Println("uses", library, m.Version)
			}
		}
	}
	fmt.Println("notes cancellation: over HTTP in revisions with sessions it only stops to wait, and the call runs on")
	fmt.Println("notes kill: the call ends with an error, as it does not come back to its stream; the next one succeeds")
	eras := []string{"legacy", "modern"}
	if o.sse != "" {
		eras = eras[:1]
	}
	for _, era := range eras {
		v := &visit{options: o, era: era, told: make(chan mcp.JSONRPCNotification, 4096), action: mcp.ElicitationResponseActionAccept}
		if err := v.all(); err != nil {
			return fmt.Errorf("%s %w", era, err)
		}
	}
	return nil
}

// visit is a client in one era, and what it was told.
type visit struct {
	options options
	era     string
	client  *client.Client
	told    chan mcp.JSONRPCNotification
	action  mcp.ElicitationResponseAction
}

func (v *visit) all() error {
	legacy := v.era == "legacy"
	asked := v.options.sse == "" // the library's HTTP+SSE takes no requests of servers
	for _, s := range []struct {
		name string
		do   func(context.Context) error
		has  bool // whether the era and the transport have it
	}{
		{"initialize", v.connect, true},
		{"tools/list", v.tools, true},
		{"tools/call structured", v.structured, true},
		{"tools/call failing tool", v.mistakes, true},
		{"tools/call in parallel", v.parallel, true},
		{"elicitation", v.elicitation, asked},
		{"sampling", v.sampling, asked},
		{"roots", v.roots, asked},
		{"resources", v.resources, true},
		{"prompts", v.prompts, true},
		{"completion", v.completion, true},
		{"progress", v.progress, true},
		{"logging", v.logging, legacy},
		{"list changed", v.listChanged, legacy},
		{"cancellation", v.cancellation, true},
		{"a replica drained in a call", v.drained, legacy && v.options.drain != ""},
		{"a call after its replica was killed", v.killed, legacy && v.options.drain != ""},
		{"close", func(context.Context) error { return v.client.Close() }, true},
	} {
		if !s.has {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := s.do(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Println("ok", v.era, s.name)
	}
	return nil
}

// revisions by era.
var revisions = map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"}

func (v *visit) connect(ctx context.Context) error {
	way, err := v.transport()
	if err != nil {
		return err
	}
	with := []client.ClientOption{client.WithElicitationHandler(v), client.WithSamplingHandler(v), client.WithRootsHandler(v)}
	if v.era == "legacy" {
		with = append(with, client.WithLegacyProtocolOnly())
	}
	v.client = client.NewClient(way, with...)
	v.client.OnNotification(func(n mcp.JSONRPCNotification) { v.told <- n })
	if err := v.client.Start(context.WithoutCancel(ctx)); err != nil { // the connection outlives the step
		return err
	}
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = revisions[v.era]
	request.Params.ClientInfo = mcp.Implementation{Name: "interop-mcp-go", Version: "1.0.0"}
	got, err := v.client.Initialize(ctx, request)
	if err != nil {
		return err
	}
	fmt.Println("speaks", v.client.ProtocolVersion())
	return equal("revision and server", []string{v.client.ProtocolVersion(), got.ServerInfo.Name}, []string{revisions[v.era], "mcpedge"})
}

func (v *visit) transport() (transport.Interface, error) {
	switch o := v.options; {
	case o.url != "":
		var with []transport.StreamableHTTPCOption
		if v.era == "legacy" { // the library has it for revisions with sessions only
			with = append(with, transport.WithContinuousListening())
		}
		return transport.NewStreamableHTTP(o.url, with...)
	case o.sse != "":
		return transport.NewSSE(o.sse)
	default:
		return transport.NewStdioWithOptions(o.command[0], os.Environ(), o.command[1:], transport.WithCommandStderrWriter(os.Stderr)), nil
	}
}

// Elicit fills in the forms of book_trip.
func (v *visit) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	content := map[string]any{"seat": "aisle", "room": "suite", "insurance": true}
	if strings.HasPrefix(r.Params.Message, "Book ") {
		content = map[string]any{"confirm": true}
	}
	if v.action != mcp.ElicitationResponseActionAccept {
		content = nil
	}
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: v.action, Content: content}}, nil
}

// CreateMessage answers as a model.
func (v *visit) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{
		SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent("Take the first one.")},
		Model:           "interop-model",
	}, nil
}

// ListRoots says where the user works.
func (v *visit) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///project/a", Name: "A"}}}, nil
}

// file is the URI of a file among the resources.
func (v *visit) file(name string) (string, error) {
	path, err := filepath.Abs(filepath.Join(v.options.dir, name))
	return "file://" + filepath.ToSlash(path), err
}

// post posts nothing to a control address.
func post(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body) // the status is reported in any case
		return fmt.Errorf("%s: %s: %s", url, resp.Status, text)
	}
	return nil
}

// equal is an error unless got is deeply equal to want.
func equal(what string, got, want any) error {
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return fmt.Errorf("%s: expected %#v, got %#v", what, want, got)
}

// contains is an error unless text has the part.
func contains(what, text, part string) error {
	if strings.Contains(text, part) {
		return nil
	}
	return fmt.Errorf("%s: expected something with %q, got %q", what, part, text)
}

func text(r *mcp.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := mcp.AsTextContent(c); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

// call calls a tool that must succeed.
func (v *visit) call(ctx context.Context, name string, arguments map[string]any) (*mcp.CallToolResult, error) {
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = name, arguments
	got, err := v.client.CallTool(ctx, r)
	if err == nil && got.IsError {
		err = errors.New(name + " failed: " + text(got))
	}
	return got, err
}
