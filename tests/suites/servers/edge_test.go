//go:build servers

package servers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// binary is the edge's program.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("MCPEDGE_BINARY")
	if path == "" {
		t.Fatal("MCPEDGE_BINARY names no binary: run make stages ONLY=servers")
	}
	return path
}

// edge is a process of the edge and a session of a client.
type edge struct {
	t       *testing.T
	admin   string
	log     string
	session *mcp.ClientSession
}

// configure writes a configuration with these backends, each a flow mapping of YAML.
func configure(t *testing.T, backends ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "edge.yaml")
	conf := "backends:\n"
	for _, b := range backends {
		conf += "  - " + b + "\n"
	}
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// reflected is a backend that is the server's, learned by server reflection.
func (s *server) reflected() string {
	return fmt.Sprintf("{name: garden, kind: reflect, target: %q}", s.addr)
}

// startEdge starts an edge, which ends with the test, and returns when all its backends are ready.
func startEdge(t *testing.T, backends ...string) *edge {
	t.Helper()
	addrs, err := process.FreeAddrs(2)
	if err != nil {
		t.Fatal(err)
	}
	e := &edge{t: t, admin: addrs[1], log: filepath.Join(t.TempDir(), "edge.log")}
	p, err := process.Start("edge", binary(t), e.log, "--config", configure(t, backends...), "--listen", addrs[0], "--admin", e.admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the edge says:\n%s", p.Tail())
		}
	})
	if err := process.AwaitOK(t.Context(), "http://"+e.admin+"/readyz", p); err != nil {
		t.Fatal(err)
	}
	e.await("ready")
	client := mcp.NewClient(&mcp.Implementation{Name: "servers", Version: "1"}, nil)
	if e.session, err = client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + addrs[0] + "/mcp"}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.session.Close() })
	return e
}

// status is the part of a backend's status at the admin address that tests use.
type status struct{ State, LastError string }

// backends returns all backends.
func (e *edge) backends() []status {
	e.t.Helper()
	resp, err := http.Get("http://" + e.admin + "/v1/backends")
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct{ Backends []status }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		e.t.Fatal(err)
	}
	return list.Backends
}

// lastError is the last error of the first backend.
func (e *edge) lastError() string {
	e.t.Helper()
	return e.backends()[0].LastError
}

// await returns when all backends are in a state.
func (e *edge) await(state string) {
	e.t.Helper()
	await.Until(e.t, "the backends are "+state, func() bool {
		return !slices.ContainsFunc(e.backends(), func(b status) bool { return b.State != state })
	})
}

// tools returns the tools that a client sees, by their names.
func (e *edge) tools() map[string]*mcp.Tool {
	e.t.Helper()
	tools := map[string]*mcp.Tool{}
	for tool, err := range e.session.Tools(e.t.Context(), nil) {
		if err != nil {
			e.t.Fatal(err)
		}
		tools[tool.Name] = tool
	}
	return tools
}

// call returns the structured content of a call that succeeds.
func (e *edge) call(tool, arguments string) string {
	e.t.Helper()
	r, err := e.session.CallTool(e.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil || r.IsError {
		e.t.Fatalf("%s: %v, %s", tool, err, said(r))
	}
	return marshal(e.t, r.StructuredContent)
}

// said is what a result says as text.
func said(r *mcp.CallToolResult) string {
	var texts []string
	if r != nil {
		for _, c := range r.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				texts = append(texts, text.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// marshal writes a value as JSON with sorted members.
func marshal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err == nil {
		var plain any
		if err = json.Unmarshal(raw, &plain); err == nil {
			raw, err = json.Marshal(plain)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// notes returns the notes of `mcpedge check` about a backend.
func notes(t *testing.T, backend string) (notes []string) {
	t.Helper()
	cmd := exec.Command(binary(t), "check", "--schemas", "--config", configure(t, backend))
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MCPEDGE_") }) // unknown settings are noted
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("check: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if note, found := strings.CutPrefix(strings.TrimSpace(line), "note    "); found {
			notes = append(notes, note)
		}
	}
	return notes
}

// canonical writes JSON with sorted members and no spaces.
func canonical(t *testing.T, text string) string {
	t.Helper()
	return marshal(t, json.RawMessage(text))
}
