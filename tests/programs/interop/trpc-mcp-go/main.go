// Command trpc-mcp-go drives an edge with the client of tRPC's trpc-mcp-go, in both eras over Streamable HTTP; over HTTP+SSE and
// stdio it has the former only.
package main

import (
	"context"
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

	mcp "trpc.group/trpc-go/trpc-mcp-go"
)

const (
	library = "trpc.group/trpc-go/trpc-mcp-go"
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
	for _, lack := range []string{
		"elicitation: it answers no such request", "sampling: it answers no such request", "completion: its client has no call for it",
		"logging: its client has no call that sets a level", "subscriptions: its client has no call for them",
		"cancellation in revisions with sessions: it stops to wait for the result, and sends nothing",
	} {
		fmt.Println("lacks", lack)
	}
	for _, note := range []string{
		"kill: the call ends with an error, as it does not come back to its stream; the next one succeeds",
		"progress: it asks for it over Streamable HTTP only",
		"roots: over Streamable HTTP it takes requests on its standalone stream only, and the edge sends them in the response of the call",
	} {
		fmt.Println("notes", note)
	}
	eras := []string{"legacy"}
	if o.url != "" {
		eras = append(eras, "modern")
	}
	for _, era := range eras {
		v := &visit{options: o, era: era, told: make(chan *mcp.JSONRPCNotification, 4096)}
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
	client  mcp.Connector
	tasking mcp.Connector // another one that has tasks; nil: none
	told    chan *mcp.JSONRPCNotification
}

func (v *visit) all() error {
	legacy, http := v.era == "legacy", v.options.url != ""
	for _, s := range []struct {
		name string
		do   func(context.Context) error
		has  bool // whether the era and the transport have it
	}{
		{"initialize", v.connect, true},
		{"tools/list", v.tools, true},
		{"tools/call", v.calls, true},
		{"tools/call structured", v.structured, !legacy},
		{"tools/call failing tool", v.mistakes, true},
		{"tools/call of a tool that asks", v.asking, true},
		{"tools/call in parallel", v.parallel, true},
		{"roots", v.roots, !http},
		{"resources", v.resources, true},
		{"prompts", v.prompts, true},
		{"progress", v.progress, http},
		{"list changed", v.listChanged, legacy && http},
		{"cancellation", v.cancellation, !legacy},
		{"tasks by a plain call, to its result", v.tasks, !legacy},
		{"tasks that fail", v.failingTask, !legacy},
		{"a replica drained in a call", v.drained, v.options.drain != ""},
		{"a call after its replica was killed", v.killed, v.options.drain != ""},
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

func (v *visit) connect(ctx context.Context) error {
	if err := v.start(); err != nil {
		return err
	}
	v.client.SetRootsProvider(mcp.NewDefaultRootsProvider(mcp.Root{URI: "file:///project/a", Name: "A"}))
	for _, method := range []string{"notifications/progress", "notifications/tools/list_changed"} {
		v.client.RegisterNotificationHandler(method, func(n *mcp.JSONRPCNotification) error {
			v.told <- n
			return nil
		})
	}
	if v.tasking != nil {
		if _, err := v.tasking.Initialize(ctx, nil); err != nil {
			return err
		}
	}
	request := &mcp.InitializeRequest{}
	if v.options.url == "" {
		request.Params.ProtocolVersion = map[bool]string{true: mcp.ProtocolVersion_2024_11_05, false: mcp.ProtocolVersion_2025_03_26}[v.options.sse != ""]
		request.Params.ClientInfo = mcp.Implementation{Name: "interop-trpc-mcp-go", Version: "1.0.0"}
		request.Params.Capabilities.Roots = &mcp.RootsCapability{}
	}
	got, err := v.client.Initialize(context.WithoutCancel(ctx), request) // the connection outlives the step
	if err != nil {
		return err
	}
	fmt.Println("speaks", got.ProtocolVersion)
	return equal("server", got.ServerInfo.Name, "mcpedge")
}

func (v *visit) start() (err error) {
	me := mcp.Implementation{Name: "interop-trpc-mcp-go", Version: "1.0.0"}
	switch o := v.options; {
	case o.url != "" && v.era == "modern":
		modern := []mcp.ClientOption{mcp.WithProtocolVersion(mcp.ProtocolVersion_2026_07_28), mcp.WithClientLogger(silent{})}
		if v.client, err = mcp.NewClient(o.url, me, modern...); err == nil {
			v.tasking, err = mcp.NewClient(o.url, me, append(modern, mcp.WithTasks(true))...)
		}
	case o.url != "":
		v.client, err = mcp.NewClient(o.url, me, mcp.WithClientLogger(silent{}))
	case o.sse != "":
		v.client, err = mcp.NewSSEClient(o.sse, me, mcp.WithClientLogger(silent{}))
	default:
		v.client, err = mcp.NewStdioClient(mcp.StdioTransportConfig{
			ServerParams: mcp.StdioServerParameters{Command: o.command[0], Args: o.command[1:]}, Timeout: patience,
		}, me, mcp.WithStdioLogger(silent{}))
	}
	return err
}

// silent is a logger of nothing: what fails is returned, too.
type silent struct{ mcp.Logger }

func (silent) Debug(...any)          {}
func (silent) Debugf(string, ...any) {}
func (silent) Info(...any)           {}
func (silent) Infof(string, ...any)  {}
func (silent) Warn(...any)           {}
func (silent) Warnf(string, ...any)  {}
func (silent) Error(...any)          {}
func (silent) Errorf(string, ...any) {}

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
		if t, ok := c.(mcp.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}
