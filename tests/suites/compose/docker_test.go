//go:build composedocker && linux

package compose

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// The edges of docker-compose.yml.
var edges = []string{"edge-1", "edge-2"}

// TestDocker is one test, since each part goes on where the one before ended.
func TestDocker(t *testing.T) {
	p := start(t)
	t.Cleanup(func() { p.tell(t) })
	p.compose(t, "build", "--build-arg", "VERSION=v1.0.0")
	p.compose(t, "up", "--detach", "--wait")
	for _, part := range []struct {
		name string
		run  func(*deployment, *testing.T)
	}{
		{"used", (*deployment).used},
		{"killed", (*deployment).killed},
		{"stopped", (*deployment).stopped},
		{"rolled", (*deployment).rolled},
		{"down", (*deployment).down},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(p, t) }) {
			return
		}
	}
}

// tell logs what became of the containers of a test that failed.
func (p *deployment) tell(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx := context.Background() // the test's is over
	ids, _ := p.Run(ctx, "ps", "--all", "--quiet")
	for id := range strings.FieldsSeq(ids) {
		state, _ := p.Run(ctx, "inspect", "--format", "{{.Name}} {{json .State}}", id)
		logs, _ := p.Command(ctx, "logs", "--tail", "50", id).CombinedOutput()
		t.Logf("%s\n%s", state, logs)
	}
}

// used: everything is healthy and locked down, every service is reached through either edge, and no log has a warning.
func (p *deployment) used(t *testing.T) {
	for service := range p.Services {
		if health := p.inspect(t, service, ".State.Health.Status"); health != "healthy" {
			t.Errorf("%s is %s", service, health)
		}
	}
	via := newTally(t)
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	for _, revision := range revisions {
		session := connect(t, ctx, endpoint, revision, via, nil)
		if got := session.InitializeResult().ServerInfo.Version; got != "v1.0.0" {
			t.Errorf("%s: the server is of version %q", revision, got)
		}
		for range 4 {
			if wrong := calculate(ctx, session); wrong != nil {
				t.Errorf("%s: %v", revision, wrong)
			}
			if r, err := session.ListResources(ctx, nil); err != nil || len(r.Resources) == 0 {
				t.Errorf("%s: resources %+v, error %v", revision, r, err)
			}
			if r, err := session.ListPrompts(ctx, nil); err != nil || len(r.Prompts) == 0 {
				t.Errorf("%s: prompts %+v, error %v", revision, r, err)
			}
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
	if by, failed := via.take(); !slices.Equal(by, edges) || len(failed) > 0 {
		t.Errorf("answers came from %v, failed: %v", by, failed)
	}
	for service := range p.Services {
		p.quiet(t, service)
	}
}

// killed: the engine starts a killed edge again, and meanwhile the other serves.
func (p *deployment) killed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	via := newTally(t)
	session := connect(t, ctx, endpoint, v2026, via, nil)
	defer session.Close()
	pid, err := strconv.Atoi(p.inspect(t, "edge-1", ".State.Pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "edge-1 is gone", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	for range 20 {
		if wrong := calculate(ctx, session); wrong != nil {
			t.Errorf("a call after the kill: %v", wrong)
		}
	}
	if _, failed := via.take(); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
	await.Until(t, "edge-1 is started again and healthy", func() bool {
		return p.inspect(t, "edge-1", "printf \"%d %s\" .RestartCount .State.Health.Status") == "1 healthy"
	})
	p.await(t, via, edges...)
}

// stopped: an edge that is stopped, and started, costs no client a failure.
func (p *deployment) stopped(t *testing.T) {
	via := newTally(t)
	done := busy(t, via)
	p.await(t, via, edges...)
	p.compose(t, "stop", "edge-1")
	if code := p.inspect(t, "edge-1", ".State.ExitCode"); code != "0" {
		t.Errorf("stopped, edge-1 ended with status %s", code)
	}
	p.await(t, via, "edge-2")
	p.compose(t, "up", "--detach", "--wait", "--no-deps", "edge-1")
	p.await(t, via, edges...)
	done()
}

// rolled: a new version as docs/scaling.md rolls it out costs no client a failure.
func (p *deployment) rolled(t *testing.T) {
	via := newTally(t)
	done := busy(t, via)
	p.compose(t, "build", "--build-arg", "VERSION=v2.0.0")
	for _, edge := range edges {
		before := p.container(t, edge)
		p.compose(t, "up", "-d", "--no-deps", "--wait", edge)
		if p.container(t, edge) == before {
			t.Errorf("%s was not replaced", edge)
		}
	}
	p.await(t, via, edges...)
	done()
	for _, edge := range edges {
		said := p.Docker(t, "exec", p.container(t, edge), "mcpedge", "version")
		if !strings.HasPrefix(said, "mcpedge v2.0.0\n") {
			t.Errorf("%s is %q", edge, said)
		}
	}
	for _, service := range append([]string{"tools", "resources", "prompts"}, edges...) {
		p.quiet(t, service)
	}
}

// down: everything ends in good order, and nothing stays.
func (p *deployment) down(t *testing.T) {
	p.compose(t, "stop")
	for service := range p.Services {
		if code := p.inspect(t, service, ".State.ExitCode"); code != "0" && service != "proxy" {
			t.Errorf("stopped, %s ended with status %s", service, code)
		}
	}
	p.compose(t, "down", "--volumes")
	for _, list := range [][]string{{"ps", "--all", "--quiet"}, {"volume", "ls", "--quiet"}} {
		if left := p.Docker(t, list...); left != "" {
			t.Errorf("docker %s: %s", strings.Join(list, " "), left)
		}
	}
}

// await waits until answers come from these edges and no other, and fails the test if a request failed meanwhile.
func (p *deployment) await(t *testing.T, via *tally, want ...string) {
	t.Helper()
	session := connect(t, t.Context(), endpoint, v2026, via, nil)
	defer session.Close()
	via.take()
	await.Until(t, "answers from "+strings.Join(want, " and "), func() bool {
		for range 20 {
			if wrong := calculate(t.Context(), session); wrong != nil {
				t.Fatalf("a call: %v", wrong)
			}
		}
		by, failed := via.take()
		if len(failed) > 0 {
			t.Fatalf("failed: %v", failed)
		}
		return slices.Equal(by, want)
	})
}

func (p *deployment) logs(t *testing.T, service string) string {
	t.Helper()
	return p.compose(t, "logs", "--no-color", "--no-log-prefix", service)
}

var (
	warning = regexp.MustCompile(`(?i)\b(warn|warning|error|alert|panic|fatal)\b`)
	// The machine's settings, of which Redis speaks; and what HAProxy has found of an edge, which starts as this test wants.
	expected = regexp.MustCompile(`overcommit|Transparent Huge Pages|TCP backlog|Server edges/\S+ is (DOWN|UP)|has no server available`)
)

// quiet fails the test for each line of a log that warns of something.
func (p *deployment) quiet(t *testing.T, service string) {
	t.Helper()
	for line := range strings.Lines(p.logs(t, service)) {
		if warning.MatchString(line) && !expected.MatchString(line) {
			t.Errorf("%s says: %s", service, line)
		}
	}
}
