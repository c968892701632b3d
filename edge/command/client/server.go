// Package client has the commands that call a running server over HTTP. call and list work with any
// MCP server. catalog rollback, disable, enable and disabled, and approvals work with the admin
// address of an edge.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// server is the server that a command calls, with the values of the flags that all commands have.
type server struct {
	command   string // for messages
	version   string // of this program, sent to the server
	url       string
	header    http.Header
	tokenFile string
	ca        string
	revision  string // empty means the newest common one
	timeout   time.Duration
	wait      time.Duration
	dialer    dialer
	// help prints the usage and the flags.
	help func()
}

// flags returns the flags of a command that calls an MCP server. usage is the text before them in
// the help. The caller adds its own flags.
func (s *server) flags(usage string, stderr io.Writer) *flag.FlagSet {
	flags := s.flagsOfHTTP(usage, stderr)
	flags.StringVar(&s.revision, "protocol-version", "", "`revision` of the protocol to speak, a date; without it, the newest that both have")
	return flags
}

// flagsOfHTTP returns the flags that all commands have.
func (s *server) flagsOfHTTP(usage string, stderr io.Writer) *flag.FlagSet {
	s.header = http.Header{}
	flags := flag.NewFlagSet(s.command, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error
	flags.Usage = func() {}
	s.help = func() {
		_, _ = io.WriteString(stderr, usage)
		flags.SetOutput(stderr)
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
	flags.StringVar(&s.ca, "ca", "", "PEM `file` with the CAs that verify the server; without it, those of the system")
	s.timeout = time.Minute
	config.DurationVar(flags, &s.timeout, "timeout", "longest `duration` of the whole command")
	config.DurationVar(flags, &s.wait, "wait", "for what `duration` to retry while the connection is refused, and list while no backend can be asked, within timeout: the server or its backends may be starting")
	return flags
}

// parse parses the command line and returns the operands. Flags may stand before, between and after
// them.
func (s *server) parse(flags *flag.FlagSet, args []string) (operands []string, err error) {
	for len(args) > 0 {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			s.help()
			return nil, err
		case err != nil:
			return nil, s.errorf("%w", config.FlagError(s.command, flags, err))
		}
		if args = flags.Args(); len(args) > 0 {
			operands, args = append(operands, args[0]), args[1:]
		}
	}
	switch {
	case s.timeout <= 0:
		return nil, s.errorf("--timeout %v: give a duration above 0, as 2m", s.timeout)
	case s.wait < 0:
		return nil, s.errorf("--wait %v: give a duration, 0 or above", s.wait)
	}
	s.dialer.wait = s.wait
	return operands, nil
}

// errorf returns an error of the command.
func (s *server) errorf(format string, args ...any) error {
	return fmt.Errorf(s.command+": "+format, args...)
}

// connection is a session with a server.
type connection struct {
	*mcp.ClientSession
	server    *server
	transport *headed
}

// transport returns the transport of the command's requests, with its headers and CAs. what
// describes the server in the error about its URL.
func (s *server) transport(ctx context.Context, what string) (*headed, error) {
	if s.tokenFile != "" {
		token, err := os.ReadFile(s.tokenFile) // #nosec G304 G703 -- the user of the command names the file
		if err != nil {
			return nil, s.errorf("--token-file: %w", err)
		}
		text := strings.TrimSpace(string(token))
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, s.errorf("--token-file %s: it must hold one access token or API key and nothing else", s.tokenFile)
		}
		s.header.Set("Authorization", "Bearer "+text)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, nil)
	if err != nil || request.URL.Host == "" {
		return nil, s.errorf("%q is not a URL of %s", config.Redact(s.url), what)
	}
	transport := &headed{header: s.header, server: request.URL, base: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: s.dialer.dial, ForceAttemptHTTP2: true,
	}}
	if s.ca != "" {
		pool, err := s.readCAs()
		if err != nil {
			return nil, err
		}
		transport.base.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return transport, nil
}

// connect opens a session. The caller closes the connection.
func (s *server) connect(ctx context.Context, options *mcp.ClientOptions) (*connection, error) {
	if _, known := revision.ByVersion(s.revision); s.revision != "" && !known {
		var all []string
		for _, r := range revision.All() {
			all = append(all, r.Version)
		}
		return nil, s.errorf("--protocol-version %.40q is not a known revision: use one of %s", s.revision, strings.Join(all, ", "))
	}
	transport, err := s.transport(ctx, "an MCP server, such as http://127.0.0.1:8080/mcp")
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "mcpedge", Version: s.version}, options)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true, MaxRetries: maxResumes,
	}, &mcp.ClientSessionOptions{ProtocolVersion: s.revision})
	c := &connection{ClientSession: session, server: s, transport: transport}
	if err != nil {
		transport.base.CloseIdleConnections()
		return nil, c.failed(ctx, config.Redact(s.url), err)
	}
	transport.refused.Store(nil) // drop the refusal of a revision that the server does not support
	return c, nil
}

// Close ends the session and its connections.
func (c *connection) Close() {
	_ = c.ClientSession.Close()
	c.transport.base.CloseIdleConnections()
}

// failed returns the error of an operation that failed within ctx, with the server's reason.
func (c *connection) failed(ctx context.Context, what string, err error) error {
	return c.server.errorf("%s: %s", what, c.reason(ctx, err))
}

// reason returns the text of an error, with the server's explanation and advice. It contains no
// credentials and no session id.
func (c *connection) reason(ctx context.Context, err error) string {
	if late := c.server.timeoutText(ctx, err); late != "" {
		return late
	}
	return plain(c.transport.withoutSessions(config.Redact(c.transport.explain(err).Error())))
}

var (
	// steps matches the operations at the beginning of the SDK's errors.
	steps = regexp.MustCompile(`^((calling|sending) "[a-z/]+": )+`)
	// rejection matches the SDK's text for a request without a response, or with an error status.
	rejection = regexp.MustCompile(`(^|: )` + regexp.QuoteMeta(rejected.Message) + `(: (` + statuses() + `))?`)
)

// statuses returns a pattern that matches the texts of HTTP's error statuses.
func statuses() string {
	var all []string
	for code := http.StatusBadRequest; code < 600; code++ {
		if text := http.StatusText(code); text != "" {
			all = append(all, regexp.QuoteMeta(text))
		}
	}
	return strings.Join(all, "|")
}

// plain returns the text of an error without the SDK's additions.
func plain(text string) string {
	return strings.TrimPrefix(rejection.ReplaceAllLiteralString(steps.ReplaceAllLiteralString(text, ""), ""), ": ")
}

func (s *server) readCAs() (*x509.CertPool, error) {
	pem, err := os.ReadFile(s.ca) // #nosec G304 G703 -- the user of the command names the file
	if err != nil {
		return nil, s.errorf("--ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, s.errorf("--ca %s: it has no certificate: give a PEM file", s.ca)
	}
	return pool, nil
}
