//go:build access

package access

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inspector is the command line of the MCP Inspector: a process for each request, which share what it stores in a home
// directory. A process that needs a login prints a link, and awaits the browser at the redirect URL.
type inspector struct {
	edge, redirect, id, home string
	login                    login
}

// inspectorProgram is where it is installed.
const inspectorProgram = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

func newInspector(t *testing.T, edge, redirect, id string, login login) client {
	t.Helper()
	return &inspector{edge: edge, redirect: redirect, id: id, login: login, home: t.TempDir()}
}

func (c *inspector) connect(ctx context.Context) error { return c.ask(ctx, nil, "initialize") }

func (c *inspector) list(ctx context.Context) (names []string, err error) {
	var result struct{ Tools []struct{ Name string } }
	err = c.ask(ctx, &result, "tools/list")
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, err
}

func (c *inspector) call(ctx context.Context, tool string) (string, error) {
	var result struct{ Content []struct{ Text string } }
	if err := c.ask(ctx, &result, "tools/call", "--tool-name", tool); err != nil {
		return "", err
	}
	if len(result.Content) != 1 {
		return "", fmt.Errorf("%s: %d contents", tool, len(result.Content))
	}
	return result.Content[0].Text, nil
}

func (c *inspector) close() error { return nil }

var httpLink = regexp.MustCompile(`https?://[^\s"']+[?&]response_type=[^\s"']+`)

// ask runs the Inspector for a request, and has the user log in where it prints a link.
func (c *inspector) ask(ctx context.Context, result any, method string, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	program, err := filepath.Abs(inspectorProgram)
	if err != nil {
		return err
	}
	line := append([]string{
		program, "--cli", c.edge, "--transport", "http", "--protocol-era", "modern", "--format", "json", "--quiet",
		"--client-id", c.id, "--callback-url", c.redirect, "--method", method,
	}, args...)
	cmd := exec.CommandContext(ctx, "node", line...)
	cmd.Env = append(os.Environ(), "HOME="+c.home, "MCP_INSPECTOR_SECRET_STORE=file", "MCP_AUTO_OPEN_ENABLED=true")
	cmd.Dir = c.home
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout = strings.NewReader("y\n"), &out // it asks whether to ask for a further scope
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var declined error
	for lines := bufio.NewReader(stderr); ; {
		text, err := lines.ReadString('\n')
		said.WriteString(text)
		if link := httpLink.FindString(text); link != "" && declined == nil {
			if _, declined = c.login(ctx, link); declined != nil {
				cancel() // it would wait for the browser
			}
		}
		if errors.Is(err, io.EOF) || err != nil {
			break
		}
	}
	err = cmd.Wait()
	if declined != nil {
		return declined
	}
	if err != nil {
		return fmt.Errorf("%w\n%s%s", err, strings.TrimSpace(said.String()), out.String())
	}
	if result == nil {
		return nil
	}
	var shown struct{ Result json.RawMessage }
	if err := json.Unmarshal(out.Bytes(), &shown); err != nil {
		return fmt.Errorf("%w: %s", err, out.String())
	}
	return json.Unmarshal(shown.Result, result)
}
