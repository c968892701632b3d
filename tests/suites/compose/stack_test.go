package compose

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// patience is how long a condition may take to come true.
const patience = 60 * time.Second

// stack runs the containers of the project as processes of this machine.
type stack struct {
	t         *testing.T
	project   *project
	addresses *addresses
	images    *dockerfile
	programs  string
	running   map[string]*container
}

// container is one process in the place of a container.
type container struct {
	cmd  *exec.Cmd
	log  *output
	done chan struct{} // closed when it has ended
	err  error         // how; read only after done
}

// output collects what a process says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func newStack(t *testing.T) *stack {
	t.Helper()
	p := load(t)
	return &stack{
		t: t, project: p, addresses: newAddresses(t, p), images: parseDockerfile(t, read(t, "deploy/Dockerfile")),
		programs: programs(t), running: map[string]*container{},
	}
}

// up starts the services named, each after those it depends on, and waits until they are healthy.
func (s *stack) up(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if s.running[name] != nil {
			continue
		}
		svc := s.project.Services[name]
		if svc == nil {
			s.t.Fatalf("docker-compose.yml has no service %s", name)
		}
		for other := range svc.DependsOn {
			s.up(other)
		}
		s.start(name)
	}
	for _, name := range names {
		s.await(name+" is healthy", name, func() bool { return s.healthy(name) == nil })
	}
}

// start runs a container's command line.
func (s *stack) start(name string, more ...string) {
	s.t.Helper()
	svc := s.project.Services[name]
	argv := s.argv(name, svc)
	for i := range argv {
		argv[i] = s.addresses.rewrite(name, argv[i])
	}
	s.exec(name, append(append(argv, s.here(name)...), more...), s.env(name))
}

// argv is the command line of a container as the image and the file make it.
func (s *stack) argv(name string, svc *service) []string {
	entrypoint := svc.Entrypoint
	if svc.Build != nil && entrypoint == nil {
		entrypoint = s.images.stage(svc.Build.Target).entrypoint
	}
	argv := append(slices.Clone(entrypoint), svc.Command...)
	argv[0] = s.program(svc, argv[0])
	return argv
}

// program finds a program of an image: a built one in its stage, another on this machine.
func (s *stack) program(svc *service, name string) string {
	s.t.Helper()
	if svc.Build != nil {
		if has := s.images.programs(s.images.stage(svc.Build.Target)); !slices.Contains(has, name) {
			s.t.Fatalf("the image %s has no program %s, only %v", svc.Image, name, has)
		}
		return filepath.Join(s.programs, name)
	}
	if name == "redis-server" {
		return redisserver.Require(s.t)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		s.t.Fatalf("%s is missing: install it, on Debian with apt-get install %s", name, name)
	}
	return path
}

// here is what a container's command line lacks on a machine that is shared.
func (s *stack) here(name string) []string {
	if slices.Contains(s.project.edges(), name) {
		return []string{"MCPEDGE_LISTEN_TRUSTED_PROXIES=127.0.0.1"}
	}
	if name != "redis" {
		return nil
	}
	addr := s.addresses.of("redis", "6379")
	return []string{"--bind", "127.0.0.1", "--port", addr[len("127.0.0.1:"):], "--dir", s.t.TempDir()}
}

func (s *stack) env(name string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOSTNAME=" + name}
	for k, v := range s.project.Services[name].Environment {
		if v != nil {
			env = append(env, k+"="+s.addresses.rewrite(name, *v))
		}
	}
	return env
}

func (s *stack) exec(name string, argv, env []string) {
	s.t.Helper()
	c := &container{cmd: process.Command(argv[0], argv[1:]...), log: &output{}, done: make(chan struct{})}
	env = append(env, c.cmd.Env[min(len(c.cmd.Env), len(os.Environ())):]...) // those of argv
	c.cmd.Env, c.cmd.Stdout, c.cmd.Stderr = env, c.log, c.log
	process.Bind(c.cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // to which the process is bound
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.err = c.cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		s.t.Fatal(err)
	}
	s.running[name] = c
	s.t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.done
		if s.t.Failed() {
			s.t.Logf("%s said:\n%s", name, c.log)
		}
	})
}

// healthy runs a container's health check, once, for as long as Docker would.
func (s *stack) healthy(name string) error {
	svc := s.project.Services[name]
	argv := slices.Clone(svc.Healthcheck.Test[1:])
	for i := range argv {
		argv[i] = s.addresses.rewrite(name, argv[i])
	}
	ctx, cancel := context.WithTimeout(context.Background(), duration(s.t, svc.Healthcheck.Timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program(svc, argv[0]), argv[1:]...)
	cmd.Env = s.env(name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// await polls until a condition that is up to one container is true.
func (s *stack) await(what, name string, ok func() bool) {
	s.t.Helper()
	end := time.After(patience)
	for !ok() {
		select {
		case <-s.running[name].done:
			s.t.Fatalf("%s ended (%v) before: %s", name, s.running[name].err, what)
		case <-end:
			s.t.Fatalf("not within %v: %s", patience, what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop asks containers to end, as Docker does, and expects each to end in good order within its grace.
func (s *stack) stop(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := s.running[name].cmd.Process.Signal(syscall.SIGTERM); err != nil {
			s.t.Fatalf("%s: %v", name, err)
		}
	}
	for _, name := range names {
		c := s.running[name]
		grace := 10 * time.Second // Docker's own
		if text := s.project.Services[name].StopGrace; text != "" {
			grace = duration(s.t, text)
		}
		select {
		case <-c.done:
			if c.err != nil {
				s.t.Errorf("%s ended with %v", name, c.err)
			}
		case <-time.After(grace):
			s.t.Errorf("%s did not end within its grace of %v", name, grace)
		}
		delete(s.running, name)
	}
}
