package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// socket is the address of the engine, inside the namespaces.
const socket = "unix:///run/docker.sock"

// Engine is a dockerd in the namespaces of Main. It is safe for concurrent use.
type Engine struct {
	// Dir is for files of the tests. Main removes it after the namespaces have ended. It must not
	// be removed inside: the machine's build cache may be mounted below it.
	Dir string

	client  string
	program *process.Process
}

// Start starts the engine and stops it when the test ends. Only one can run at a time.
func Start(t testing.TB) *Engine {
	t.Helper()
	skip(t)
	cli, err := client()
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{Dir: os.Getenv(envDir), client: cli}
	config := filepath.Join(e.Dir, "daemon.json") // instead of the machine's configuration
	if err := os.WriteFile(config, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	e.program, err = process.Start("dockerd", "dockerd", filepath.Join(e.Dir, "dockerd.log"), "--host", socket,
		"--data-root", filepath.Join(e.Dir, "data"), "--exec-root", "/run/docker", "--pidfile", "/run/docker.pid", "--config-file", config,
		"--cgroup-parent", "/"+group(e.Dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.program.Stop(); err != nil {
			t.Error(err)
		}
	})
	for end := time.Now().Add(process.ReadyWithin); ; time.Sleep(50 * time.Millisecond) {
		_, err := e.Run(t.Context(), "version", "--format", "{{.Server.Version}}")
		if err == nil {
			return e
		}
		select {
		case <-e.program.Done():
			t.Fatalf("dockerd ended: %s", e.program.Tail())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("dockerd is not ready within %v: %v\n%s", process.ReadyWithin, err, e.program.Tail())
		}
	}
}

// client returns a docker command with BuildKit: one older than 23, which includes it, or one with
// the plugin buildx.
func client() (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		name := filepath.Join(dir, "docker")
		out, err := exec.Command(name, "--version").Output()
		if err != nil {
			continue
		}
		var major int
		if _, err := fmt.Sscanf(string(out), "Docker version %d.", &major); err == nil && major < 23 {
			return name, nil
		}
		if exec.Command(name, "buildx", "version").Run() == nil {
			return name, nil
		}
	}
	return "", errors.New("no docker command on this machine supports BuildKit: install docker.io, or the plugin buildx")
}

// Env returns the environment of programs that use the engine: this process's, without settings of
// edges and of Docker.
func (e *Engine) Env() []string {
	env := []string{
		"DOCKER_HOST=" + socket, "DOCKER_BUILDKIT=1", "DOCKER_CLI_EXPERIMENTAL=enabled", "BUILDKIT_PROGRESS=plain",
		"DOCKER_CONFIG=" + filepath.Join(e.Dir, "docker"), "HOME=" + e.Dir,
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		prefix, _, _ := strings.Cut(name, "_")
		switch prefix {
		case "MCPEDGE", "COMPOSE", "OTEL", "DOCKER", "BUILDKIT", "BUILDX", "HOME":
		default:
			env = append(env, v)
		}
	}
	return env
}

// Run runs the docker command and returns its output without the final newline. An error includes
// the command's output.
func (e *Engine) Run(ctx context.Context, args ...string) (string, error) {
	return e.output(e.Command(ctx, args...))
}

// Command returns the docker command with arguments. It runs at the root of the repository.
func (e *Engine) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.client, args...)
	cmd.Env, cmd.Dir = e.Env(), "../../.."
	return cmd
}

func (e *Engine) output(cmd *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, &out, &errs)
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// Docker is Run, and fails the test on an error.
func (e *Engine) Docker(t testing.TB, args ...string) string {
	t.Helper()
	out, err := e.Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Gateway returns the address of the namespaces on the engine's network. Containers and builds
// reach listeners of the test there.
func (e *Engine) Gateway(t testing.TB) string {
	t.Helper()
	bridge, err := net.InterfaceByName("docker0")
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := bridge.Addrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if a, ok := a.(*net.IPNet); ok && a.IP.To4() != nil {
			return a.IP.String()
		}
	}
	t.Fatalf("the bridge of the engine has no address of IPv4 among %v", addrs)
	panic("unreachable")
}

// Published returns the address, host:port, at which a port of a container is published.
func (e *Engine) Published(t testing.TB, container string, port int) string {
	t.Helper()
	text, _, _ := strings.Cut(e.Docker(t, "port", container, strconv.Itoa(port)), "\n")
	if _, _, err := net.SplitHostPort(text); err != nil {
		t.Fatalf("port %d of %s is published at %q", port, container, text)
	}
	return text
}
