package compose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const root = "../../.."

// project is what docker-compose.yml says, as Compose understands it.
type project struct {
	Services map[string]*service
	Volumes  map[string]any
}

type service struct {
	Image string
	Build *struct{ Context, Dockerfile, Target string }
	// Entrypoint and Command are nil when they are the image's.
	Entrypoint, Command []string
	// Environment has nil for what is taken from whoever runs Compose.
	Environment map[string]*string
	DependsOn   map[string]struct{ Condition string } `json:"depends_on"`
	Healthcheck *struct {
		Test    []string
		Timeout string
	}
	Ports []struct {
		HostIP    string `json:"host_ip"`
		Target    int
		Published string
	}
	// Profiles it belongs to; without one it always runs.
	Profiles  []string
	Networks  map[string]any
	Volumes   []struct{ Type, Source, Target string }
	StopGrace string `json:"stop_grace_period"`
}

// load reads docker-compose.yml with Compose's own loader: by its schema, anchors and variables resolved.
func load(t *testing.T) *project {
	t.Helper()
	cmd := exec.Command("go", "tool", "-modfile=tools/go.mod", "github.com/compose-spec/compose-go/v2/cmd",
		"-format", "json", "docker-compose.yml")
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, outside(), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("docker-compose.yml is not valid: %v: %s", err, &errs)
	}
	p := &project{}
	if err := json.Unmarshal(out.Bytes(), p); err != nil {
		t.Fatalf("%v in\n%s", err, &out)
	}
	return p
}

// outside is the environment without the settings of an edge that is at work on this machine.
func outside() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MCPEDGE_") && !strings.HasPrefix(v, "COMPOSE_") && !strings.HasPrefix(v, "OTEL_") {
			env = append(env, v)
		}
	}
	return env
}

// edges are the names of the services that run the edge.
func (p *project) edges() (names []string) {
	for i := 1; p.Services[fmt.Sprint("edge-", i)] != nil; i++ {
		names = append(names, fmt.Sprint("edge-", i))
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
