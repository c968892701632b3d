//go:build composedocker && linux

package compose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/engine"
)

// composeProgram is Compose, which buildCompose builds.
var composeProgram = filepath.Join(root, "bin", "docker-compose")

func TestMain(m *testing.M) {
	engine.Main(m, []engine.Program{
		{Name: "redis-server", Package: "redis-server"}, {Name: "haproxy", Package: "haproxy"}, {Name: "wget", Package: "wget"},
	}, func() error { return errors.Join(engine.DownloadModules(), buildCompose()) })
}

func buildCompose() error {
	to, err := filepath.Abs(composeProgram)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-C", filepath.Join(root, "tools", "compose"), "-o", to, "github.com/docker/compose/v2/cmd")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build of Compose: %w: %s", err, out)
	}
	return nil
}

// deployment is docker-compose.yml on an engine.
type deployment struct {
	*engine.Engine
	modules string // a GOPROXY
	// Services that always run; Others need a profile.
	Services, Others map[string]*service
}

// start starts an engine that has the images that the project is built from or runs.
func start(t *testing.T) *deployment {
	t.Helper()
	p := &deployment{Engine: engine.Start(t), Others: map[string]*service{}}
	if err := json.Unmarshal([]byte(p.compose(t, "--profile", "*", "config", "--format", "json")), p); err != nil {
		t.Fatal(err)
	}
	var left []string
	for name, s := range p.Services {
		switch image, _, _ := strings.Cut(s.Image, ":"); {
		case len(s.Profiles) > 0:
			p.Others[name] = s
			delete(p.Services, name)
			if s.Build == nil {
				left = append(left, s.Image)
			}
		case image == "redis":
			p.Redis(t, s.Image)
		case image == "haproxy":
			p.HAProxy(t, s.Image)
		case s.Build == nil:
			t.Fatalf("%s runs %s, for which there is no stand-in", name, s.Image)
		}
	}
	slices.Sort(left)
	t.Logf("left out, since they cannot be had without a registry: %s", strings.Join(left, ", "))
	p.modules = p.Bases(t).Modules
	return p
}

// compose runs Compose at the root of the repository and returns its output.
func (p *deployment) compose(t *testing.T, args ...string) string {
	t.Helper()
	to, err := filepath.Abs(composeProgram)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), to, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, append(p.Env(), "GOPROXY="+p.modules), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("docker compose %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

// container is the id of a service's container.
func (p *deployment) container(t *testing.T, service string) string {
	t.Helper()
	id := strings.TrimSpace(p.compose(t, "ps", "--all", "--quiet", service))
	if id == "" || strings.Contains(id, "\n") {
		t.Fatalf("the containers of %s are %q, want one", service, id)
	}
	return id
}

// inspect asks for something of a service's container, by a template of Docker's.
func (p *deployment) inspect(t *testing.T, service, what string) string {
	t.Helper()
	return p.Docker(t, "inspect", "--format", "{{"+what+"}}", p.container(t, service))
}
