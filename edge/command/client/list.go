package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	edgemcp "github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

const listUsage = `mcpedge list [flags] URL

Lists the tools, prompts, resources and resource templates of an MCP server over Streamable HTTP, a line each: its kind, its
name or URI, its arguments (those in brackets are optional) and the first sentence of its description.

`

// inventory has the lists of a server.
type inventory struct {
	Tools     []*mcp.Tool             `json:"tools"`
	Prompts   []*mcp.Prompt           `json:"prompts"`
	Resources []*mcp.Resource         `json:"resources"`
	Templates []*mcp.ResourceTemplate `json:"resourceTemplates"`
}

// List runs mcpedge list. It prints the lists of an MCP server to out, and help to stderr. version
// is the version of this program. It returns flag.ErrHelp if help was requested.
func List(ctx context.Context, args []string, version string, out, stderr io.Writer) error {
	s := &server{command: "list", version: version}
	flags := s.flags(listUsage, stderr)
	whole := flags.Bool("json", false, "print whole entries, as JSON")
	operands, err := s.parse(flags, args)
	if err != nil {
		return err
	}
	if len(operands) != 1 {
		return s.errorf("%d arguments: write mcpedge list URL, as mcpedge list http://127.0.0.1:8080/mcp", len(operands))
	}
	s.url = operands[0]
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.connect(ctx, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if err != nil {
		return err
	}
	defer conn.Close()
	all, err := conn.inventory(ctx)
	if err != nil {
		return err
	}
	if *whole {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	return all.print(out)
}

// inventory reads all pages of all lists. A list that the server does not support is empty.
func (c *connection) inventory(ctx context.Context) (*inventory, error) {
	all := &inventory{Tools: []*mcp.Tool{}, Prompts: []*mcp.Prompt{}, Resources: []*mcp.Resource{}, Templates: []*mcp.ResourceTemplate{}}
	for _, read := range []func() error{
		func() error { return collect(&all.Tools, c.Tools(ctx, nil)) },
		func() error { return collect(&all.Prompts, c.Prompts(ctx, nil)) },
		func() error { return collect(&all.Resources, c.Resources(ctx, nil)) },
		func() error { return collect(&all.Templates, c.ResourceTemplates(ctx, nil)) },
	} {
		var failure *jsonrpc.Error
		if err := c.server.awaitBackends(ctx, read); err != nil && !(errors.As(err, &failure) && failure.Code == jsonrpc.CodeMethodNotFound) {
			return nil, c.failed(ctx, "a list", err)
		}
	}
	return all, nil
}

// unavailable reports whether an error of the server means that no backend is available.
func unavailable(err error) bool {
	var failure *jsonrpc.Error
	return errors.As(err, &failure) && slices.ContainsFunc(revision.All(), func(r *revision.Rules) bool { return failure.Code == int64(r.Code(edgemcp.KindUnavailable)) })
}

// awaitBackends runs an operation until it succeeds or --wait is over, as long as its error is that
// no backend is available. The backends may be starting.
func (s *server) awaitBackends(ctx context.Context, operation func() error) error {
	for {
		err := operation()
		if !unavailable(err) || !time.Now().Add(dialAgain).Before(s.dialer.waitEnd()) {
			return err
		}
		select {
		case <-time.After(dialAgain):
		case <-ctx.Done():
			return err
		}
	}
}

// collect replaces a list by entries. If an entry is an error, it leaves the list unchanged.
func collect[T any](to *[]T, entries func(func(T, error) bool)) error {
	all := []T{}
	for entry, err := range entries {
		if err != nil {
			return err
		}
		all = append(all, entry)
	}
	*to = all
	return nil
}

// print writes a line for each entry.
func (all *inventory) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(kind, name, arguments, description string) {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", kind, line(name), line(arguments), line(sentence(description)))
	}
	for _, t := range all.Tools {
		row("tool", t.Name, argumentsOf(t.InputSchema), t.Description)
	}
	for _, p := range all.Prompts {
		var names []string
		for _, a := range p.Arguments {
			names = append(names, bracketed(a.Name, a.Required))
		}
		row("prompt", p.Name, strings.Join(names, " "), p.Description)
	}
	for _, r := range all.Resources {
		row("resource", r.URI, "", r.Description)
	}
	for _, r := range all.Templates {
		row("template", r.URITemplate, "", r.Description)
	}
	return table.Flush()
}

// argumentsOf returns the properties of a tool's schema for a table, the required ones first.
func argumentsOf(schema any) string {
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	list, _ := object["required"].([]any)
	var required, optional []string
	for name := range properties {
		if slices.Contains(list, any(name)) {
			required = append(required, bracketed(name, true))
		} else {
			optional = append(optional, bracketed(name, false))
		}
	}
	slices.Sort(required)
	slices.Sort(optional)
	return strings.Join(append(required, optional...), " ")
}

func bracketed(name string, required bool) string {
	if required {
		return name
	}
	return "[" + name + "]"
}

// sentence returns the first sentence of a description.
func sentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text, _, _ = strings.Cut(text, ". ")
	return text
}

// line returns a server's text for a cell of a table, without characters that would end the cell or
// the line.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\v' || r == '\f' {
			return ' '
		}
		return r
	}, s)
}
