package compose

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
)

// What Compose's loader leaves to the daemon, and what is a rule of ours.
func TestComposeFile(t *testing.T) {
	p := load(t)
	if len(p.edges()) < 2 {
		t.Errorf("edges %v: want two or more", p.edges())
	}
	for name, s := range p.Services {
		checked := s.Healthcheck != nil && len(s.Healthcheck.Test) > 1 && s.Healthcheck.Test[0] == "CMD"
		if !checked && (len(s.Profiles) == 0 || s.Healthcheck != nil) {
			t.Errorf("%s: want a health check that needs no shell, have %+v", name, s.Healthcheck)
		}
		for other := range s.DependsOn {
			if o := p.Services[other]; o == nil || len(o.Profiles) > 0 && len(s.Profiles) == 0 {
				t.Errorf("%s depends on %s, which is no service, or does not always run", name, other)
			}
		}
		for _, port := range s.Ports {
			if name != "proxy" && len(s.Profiles) == 0 || port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %d on %q: want the proxy and what has a profile, on 127.0.0.1 only", name, port.Target, port.HostIP)
			}
		}
		for _, v := range s.Volumes {
			if _, named := p.Volumes[v.Source]; v.Type == "volume" && !named {
				t.Errorf("%s uses the volume %s, which is not declared", name, v.Source)
			}
			if _, err := os.Stat(v.Source); v.Type == "bind" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if b := s.Build; b != nil {
			if parseDockerfile(t, read(t, b.Dockerfile)).stage(b.Target) == nil {
				t.Errorf("%s: %s has no stage %s", name, b.Dockerfile, b.Target)
			}
		}
	}
}

// Replicas are alike: the same image, settings and environment.
func TestReplicasAreAlike(t *testing.T) {
	p := load(t)
	of := func(name string) string {
		s := p.Services[name]
		return fmt.Sprint(s.Image, *s.Build, s.Entrypoint, s.Command, len(s.Environment), *s.Environment["MCPEDGE_ADMIN_ADDRESS"], s.StopGrace)
	}
	for _, name := range p.edges() {
		if of(name) != of("edge-1") {
			t.Errorf("%s differs from edge-1:\n%s\n%s", name, of(name), of("edge-1"))
		}
	}
}

var row = regexp.MustCompile("(?m)^\\| `([a-z0-9.-]+)` \\| (\\S+)")

// documented are the settings with their defaults, by the page whose completeness edge/config tests.
func documented(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/configuration.md"), -1) {
		out[m[1]] = m[2]
	}
	return out
}

// setting returns a duration that the edges are told, or its default.
func setting(t *testing.T, p *project, name string) time.Duration {
	t.Helper()
	text := documented(t)[name]
	if v := p.Services["edge-1"].Environment[config.Variable(name)]; v != nil {
		text = *v
	}
	return duration(t, text)
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every variable that the file gives an edge, or tells its reader of, is a setting.
func TestVariablesAreSettings(t *testing.T) {
	known := map[string]bool{"MCPEDGE_PORT": true}
	for key := range documented(t) {
		known[config.Variable(key)] = true
	}
	if !known["MCPEDGE_ADMIN_ADDRESS"] || !known["MCPEDGE_REDIS_URL"] {
		t.Fatalf("docs/configuration.md was not understood: %v", known)
	}
	for name, s := range load(t).Services {
		for variable := range s.Environment {
			if strings.HasPrefix(variable, "MCPEDGE_") && !known[variable] {
				t.Errorf("%s: %s is no setting", name, variable)
			}
		}
	}
	for _, variable := range regexp.MustCompile(`MCPEDGE_[A-Z_]+`).FindAllString(read(t, "docker-compose.yml"), -1) {
		if !known[variable] {
			t.Errorf("docker-compose.yml names %s, which is no setting", variable)
		}
	}
}

// Docker kills an edge only after its drain had all its time.
func TestStopGrace(t *testing.T) {
	p := load(t)
	drain := setting(t, p, "shutdown.delay") + setting(t, p, "shutdown.grace")
	if got := duration(t, p.Services["edge-1"].StopGrace); got <= drain {
		t.Errorf("stop_grace_period %v, and a drain takes up to %v", got, drain)
	}
}

// Redis keeps what it was given, over a restart and under pressure.
func TestRedisKeeps(t *testing.T) {
	command := load(t).Services["redis"].Command
	for flag, want := range map[string]string{"--appendonly": "yes", "--maxmemory-policy": "noeviction"} {
		if i := slices.Index(command, flag); i < 0 || command[i+1] != want {
			t.Errorf("redis is started with %v: want %s %s", command, flag, want)
		}
	}
}
