package certs

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// The program, as it is started: it tells its URLs with https, `mcpedge ready` asks it over TLS, it ends on SIGTERM, and
// `mcpedge stdio` with the same file reads what concerns its backends alone.
func TestProgram(t *testing.T) {
	runtime.LockOSThread() // to which the program is bound
	defer runtime.UnlockOSThread()
	dir := t.TempDir()
	if err := process.Build(t.Context(), dir, "github.com/mcpedge/mcpedge/edge"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "edge")
	ca := authority.New(t, "ca")
	p := ca.Server(t)
	cert, key := authority.File(t, filepath.Join(dir, "tls.crt"), p.Cert), authority.File(t, filepath.Join(dir, "tls.key"), p.Key)
	addrs, err := process.FreeAddrs(2)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	edge, err := process.Start("edge", program, log, "--listen", addrs[0], "--admin", addrs[1],
		"--tls-cert", cert, "--tls-key", key, "MCPEDGE_ADMIN_TLS_CERT="+cert, "MCPEDGE_ADMIN_TLS_KEY="+key, "MCPEDGE_ADMIN_TLS_CLIENT_CA="+cert)
	if err != nil {
		t.Fatal(err)
	}
	ready := func(variables ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, "ready", "--admin", addrs[1])
		cmd.Env = append(os.Environ(), variables...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	await.Until(t, "the edge to be ready", func() bool {
		_, err := ready("MCPEDGE_ADMIN_TLS_CERT=" + cert)
		return err == nil
	})
	if out, err := ready(); err == nil || !strings.Contains(out, "speaks TLS") {
		t.Errorf("without TLS: %v: %s", err, out)
	}
	for _, protocol := range protocols {
		c := newClient(t, protocol, authority.Pool(ca), nil)
		if status, body, err := c.get("https://" + addrs[0] + "/"); err != nil || status != 200 || !strings.Contains(body, "https://"+addrs[0]+"/mcp") {
			t.Errorf("%d, %v: %s", status, err, body)
		}
	}
	await.Until(t, "the URLs to be told", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), `"url": "https://`+addrs[0]+`/mcp"`) && strings.Contains(string(text), "https://"+addrs[1]+"/dev")
	})
	if err := edge.Stop(); err != nil {
		t.Error(err)
	}

	s := newService(capability.WithServerOptions(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{p.TLS(t)}}))))
	backend := harness.Serve(t, "fixture", s.Server)
	file := authority.File(t, filepath.Join(dir, "edge.yaml"), fmt.Appendf(nil,
		"listen: {tls: {cert: none, key: none}}\nadmin: {tls: {cert: none, key: none}}\nbackends: [{name: fixture, target: %q, tls: {ca: %s}}]\n",
		backend.Addr, authority.File(t, filepath.Join(dir, "ca.crt"), ca.PEM)))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "stdio", "--config", file)
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"over stdio"},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`+
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}`+"\n")
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"over stdio"`) {
		t.Errorf("over stdio: %q, %v", line, err)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("stdio ended with %v", err)
	}
}
