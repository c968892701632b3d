//go:build access

package access

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// provider runs oidc-provider until the test ends, and returns its issuer, and what it is told through. The tokens for the resource
// opaque are; a machine gets those for the resource signed. Further variables are for server.mjs.
func provider(t *testing.T, signed, opaque string, env ...string) (issuer string, tell func(command string)) {
	t.Helper()
	uses(t, "node", "npm")
	need(t, npmPackages)
	cmd := exec.Command("node", "server.mjs")
	cmd.Env = append(append(os.Environ(), "OPAQUE="+opaque, "RESOURCE="+signed+"/mcp"), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the authorization server:\n%s", &log)
		}
	})
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	if issuer = await.Receive(t, "the authorization server serves", lines); issuer == "" {
		t.Fatalf("the authorization server has ended:\n%s", &log)
	}
	return issuer, func(command string) {
		t.Helper()
		if _, err := fmt.Fprintln(in, command); err != nil {
			t.Fatal(err)
		}
		if got := await.Receive(t, "the authorization server says that it did as told", lines); got != command {
			t.Fatalf("the authorization server says %q to %q", got, command)
		}
	}
}

// secretOfEdge is the file with which an edge asks oidc-provider about tokens.
func secretOfEdge(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("the-edge-asks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// oidcProvider is one whose tokens the edge asks about with a secret, or reads without one.
type oidcProvider struct {
	issuer, secret string
	tell           func(command string)
}

// atProvider runs one with opaque tokens, or with signed ones for Python's SDK: no skew keeps an opaque token.
func atProvider(t *testing.T, name, edge string, log *transcript) server {
	t.Helper()
	return startProvider(t, name, edge, log)
}

// startProvider is atProvider with further variables for server.mjs.
func startProvider(t *testing.T, name, edge string, log *transcript, env ...string) server {
	t.Helper()
	address, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	origin := log.proxy(t, "http://"+address, toServer)
	log.name(origin, "http://SERVER")
	p := &oidcProvider{}
	opaque := ""
	if name != "python" {
		opaque, p.secret = edge, secretOfEdge(t)
	}
	p.issuer, p.tell = provider(t, edge, opaque, append(env, "LISTEN="+address, "ISSUER="+origin)...)
	return p
}

// atClosedProvider is atProvider where no client registers itself.
func atClosedProvider(t *testing.T, name, edge string, log *transcript) server {
	t.Helper()
	return startProvider(t, name, edge, log, "REGISTRATION=off")
}

func (p *oidcProvider) settings() config.Issuer {
	id := config.Issuer{Issuer: p.issuer}
	if p.secret != "" {
		id.Introspection = introspection(p.issuer, p.secret)
	}
	return id
}

// introspection is how an edge asks about tokens, each time anew.
func introspection(issuer, secret string) *config.Introspection {
	return &config.Introspection{URL: issuer + "/token/introspection", ClientID: "edge", ClientSecretFile: secret, TTL: 1}
}

func (p *oidcProvider) shortenTokens(t *testing.T) {
	t.Helper()
	p.tell(fmt.Sprintf("lifetime %d", lifetime/time.Second))
}

func (p *oidcProvider) revoke(t *testing.T) {
	t.Helper()
	p.tell("revoke")
}
