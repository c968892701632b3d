package stdio_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is the real command, as a client starts it: with no settings, in front of bundled services.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	// stdout is what out reads.
	stdout io.Closer
	out    *bufio.Scanner
	log    bytes.Buffer
}

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcpedge")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../../").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func launch(t *testing.T, path string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(path, "stdio")}
	// Listeners of another command must not keep this one from starting.
	p.cmd.Env = append(p.cmd.Environ(), "MCPEDGE_LISTEN_ADDRESS=0.0.0.0:8080", "MCPEDGE_ADMIN_ADDRESS=nonsense")
	p.cmd.Stderr = &p.log
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout, p.out = out, bufio.NewScanner(out)
	p.out.Buffer(nil, 8<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

func (p *process) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// next reads one line, which is to be a message that has the part.
func (p *process) next(part string) {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("stdout ended; the log is\n%s", &p.log)
	}
	if !json.Valid(p.out.Bytes()) || !strings.Contains(p.out.Text(), part) {
		p.t.Errorf("%s lacks %s", p.out.Text(), part)
	}
}

// wait returns how the process ended.
func (p *process) wait() error {
	p.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		p.t.Fatal("the process did not end")
		return nil
	}
}

func TestProcess(t *testing.T) {
	path := build(t)
	const probe = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`
	t.Run("ends with its input", func(t *testing.T) {
		p := launch(t, path)
		p.send(probe)
		p.next(`"supportedVersions"`)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		p.next(`"protocolVersion":"2025-06-18"`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		p.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
		p.next(`"id":3,"result":{"tools":[`)
		_ = p.in.Close()
		if p.out.Scan() {
			t.Errorf("more on stdout: %s", p.out.Text())
		}
		if err := p.wait(); err != nil {
			t.Errorf("ended with %v; the log is\n%s", err, &p.log)
		}
		if !strings.Contains(p.log.String(), `msg=serving version=`) || !strings.Contains(p.log.String(), `endpoint="stdin and stdout"`) || !strings.Contains(p.log.String(), "msg=stopped") {
			t.Errorf("the log is\n%s", &p.log)
		}
	})
	t.Run("ends with SIGTERM", func(t *testing.T) {
		p := launch(t, path)
		p.send(probe)
		p.next(`"supportedVersions"`)
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := p.wait(); err != nil {
			t.Errorf("ended with %v; the log is\n%s", err, &p.log)
		}
	})
	t.Run("ends with its parent's interest", func(t *testing.T) {
		p := launch(t, path)
		p.send(probe)
		p.next(`"supportedVersions"`)
		if err := p.stdout.Close(); err != nil {
			t.Fatal(err)
		}
		p.send(probe)
		if err := p.wait(); err == nil || !strings.Contains(p.log.String(), "the client is gone") {
			t.Errorf("ended with %v; the log is\n%s", err, &p.log)
		}
	})
}
