package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
)

const callUsage = `mcpedge call [flags] URL TOOL [JSON]

Calls a tool of an MCP server over Streamable HTTP and prints the text of the result. JSON has the arguments, an object;
without it there are none. Progress goes to stderr. The exit status is 1 where the call fails, or the tool says that it
did. What the tool would ask is not answered.

`

// callSettings are the command line of mcpedge call.
type callSettings struct {
	url, tool string
	arguments json.RawMessage
	header    http.Header
	tokenFile string
	ca        string
	whole     bool
	timeout   time.Duration
	wait      time.Duration
}

// parseCall reads the command line. Flags may stand between the arguments, too.
func parseCall(args []string, stderr io.Writer) (*callSettings, error) {
	s := &callSettings{header: http.Header{}}
	flags := flag.NewFlagSet("call", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, callUsage)
		flags.PrintDefaults()
	}
	flags.Func("header", "`'NAME: VALUE'` of a header to send, repeatable", func(text string) error {
		name, value, found := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !found || name == "" {
			return errors.New("write it as 'NAME: VALUE'")
		}
		s.header.Add(name, strings.TrimSpace(value))
		return nil
	})
	flags.StringVar(&s.tokenFile, "token-file", "", "`file` with an access token or an API key, sent as Authorization: Bearer")
	flags.StringVar(&s.ca, "ca", "", "PEM `file` with the CAs that verify the server; the system's without it")
	flags.BoolVar(&s.whole, "json", false, "print the whole result, as JSON")
	flags.DurationVar(&s.timeout, "timeout", time.Minute, "longest time for all of it")
	flags.DurationVar(&s.wait, "wait", 0, "how long to try again while no connection can be made, within timeout: an address may be new")
	var operands []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if args = flags.Args(); len(args) > 0 {
			operands, args = append(operands, args[0]), args[1:]
		}
	}
	if len(operands) < 2 || len(operands) > 3 {
		return nil, fmt.Errorf("call: %d arguments: write mcpedge call URL TOOL JSON, as mcpedge call http://127.0.0.1:8080/mcp add '{\"a\":1}'", len(operands))
	}
	s.url, s.tool = operands[0], operands[1]
	if len(operands) == 3 {
		var object map[string]any
		if err := json.Unmarshal([]byte(operands[2]), &object); err != nil || object == nil {
			return nil, fmt.Errorf("call: the arguments %q are no JSON object", operands[2])
		}
		s.arguments = json.RawMessage(operands[2])
	}
	if s.tokenFile != "" {
		token, err := os.ReadFile(s.tokenFile) // #nosec G304 G703 -- whoever runs the command names the file
		if err != nil {
			return nil, fmt.Errorf("call: --token-file: %w", err)
		}
		s.header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return s, nil
}

// dialAgain is the pause between attempts to connect.
const dialAgain = 200 * time.Millisecond

// dial connects, and tries again while it cannot for as long as the settings say.
func (s *callSettings) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for end := time.Now().Add(s.wait); ; {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil || time.Now().Add(dialAgain).After(end) {
			return conn, err
		}
		select {
		case <-time.After(dialAgain):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// headed adds headers to what it sends to the server, by its scheme, host and port, and only there: a redirect to another one does not get
// them, and neither does one from https to http.
type headed struct {
	header http.Header
	server *url.URL
	base   *http.Transport
	// refused is the last refusal; nil: there is none.
	refused atomic.Pointer[refusal]
}

// RoundTrip implements http.RoundTripper.
func (h *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == h.server.Scheme && r.URL.Host == h.server.Host {
		r = r.Clone(r.Context())
		for name, values := range h.header {
			r.Header[name] = values
		}
	}
	resp, err := h.base.RoundTrip(r)
	if err == nil {
		if refused := refusalOf(resp); refused != nil {
			h.refused.Store(refused)
		}
	}
	return resp, err
}

// explain says why the server refused what came to an error, and what to do.
func (h *headed) explain(err error) error {
	if refused := h.refused.Load(); refused != nil {
		return refused.explain(err, h.header.Get("Authorization") != "")
	}
	return err
}

// callTool calls a tool of an MCP server, and prints the result to out, what comes meanwhile to stderr.
func callTool(ctx context.Context, args []string, out, stderr io.Writer) error {
	s, err := parseCall(args, stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, nil)
	if err != nil || request.URL.Host == "" {
		return fmt.Errorf("call: %q is no URL of an MCP server, such as http://127.0.0.1:8080/mcp", config.Redact(s.url))
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "mcpedge", Version: app.ThisBuild().Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			done := fmt.Sprint(r.Params.Progress)
			if r.Params.Total > 0 {
				done += fmt.Sprint(" of ", r.Params.Total)
			}
			_, _ = fmt.Fprintln(stderr, strings.TrimSpace(done+" "+r.Params.Message))
		},
	})
	transport := &headed{header: s.header, server: request.URL, base: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: s.dial, ForceAttemptHTTP2: true,
	}}
	defer transport.base.CloseIdleConnections()
	if s.ca != "" {
		pool, err := readCAs(s.ca)
		if err != nil {
			return err
		}
		transport.base.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	if err != nil {
		return fmt.Errorf("call: %s: %s", config.Redact(s.url), config.Redact(transport.explain(err).Error()))
	}
	defer func() { _ = session.Close() }()
	params := &mcp.CallToolParams{Name: s.tool, Meta: mcp.Meta{}}
	if s.arguments != nil {
		params.Arguments = s.arguments
	}
	params.SetProgressToken("call")
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return fmt.Errorf("call: %s: %s", s.tool, config.Redact(transport.explain(err).Error()))
	}
	if err := printResult(out, result, s.whole); err != nil {
		return err
	}
	if result.IsError {
		return fmt.Errorf("call: %s says that it failed", s.tool)
	}
	return nil
}

func readCAs(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file) // #nosec G304 G703 -- whoever runs the command names the file
	if err != nil {
		return nil, fmt.Errorf("call: --ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("call: --ca %s: it has no certificate: give a PEM file", file)
	}
	return pool, nil
}

// printResult prints text as it is, and of other contents what they are.
func printResult(out io.Writer, r *mcp.CallToolResult, whole bool) error {
	if whole {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	for _, c := range r.Content {
		var line string
		switch c := c.(type) {
		case *mcp.TextContent:
			line = c.Text
		case *mcp.ImageContent:
			line = fmt.Sprintf("image, %s, %d bytes", c.MIMEType, len(c.Data))
		case *mcp.AudioContent:
			line = fmt.Sprintf("audio, %s, %d bytes", c.MIMEType, len(c.Data))
		case *mcp.ResourceLink:
			line = "resource " + c.URI
		case *mcp.EmbeddedResource:
			if line = c.Resource.Text; line == "" {
				line = fmt.Sprintf("resource %s, %s, %d bytes", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
			}
		default:
			raw, err := json.Marshal(c)
			if err != nil {
				return err
			}
			line = string(raw)
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	if len(r.Content) > 0 || r.StructuredContent == nil {
		return nil
	}
	return json.NewEncoder(out).Encode(r.StructuredContent)
}
