package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// StopWithin is the timeout for a program to end after SIGTERM.
const StopWithin = time.Minute

// ReadyWithin is the timeout for a program to become ready.
const ReadyWithin = time.Minute

// Process is a started program. It is safe for concurrent use.
type Process struct {
	// Name identifies the process in messages.
	Name string

	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error // the exit error; valid after done is closed
}

// Command returns the command of a program. Arguments MCPEDGE_NAME=VALUE are variables of its
// environment, as settings of an edge are that have no flag. env gets all arguments.
func Command(program string, args ...string) *exec.Cmd {
	var variables, rest []string
	for _, arg := range args {
		if name, _, found := strings.Cut(arg, "="); found && strings.HasPrefix(name, "MCPEDGE_") && program != "env" {
			variables = append(variables, arg)
		} else {
			rest = append(rest, arg)
		}
	}
	cmd := exec.Command(program, rest...)
	if len(variables) > 0 {
		cmd.Env = append(os.Environ(), variables...)
	}
	return cmd
}

// Start runs program, as Command, and appends its output to the file log. On Linux, the program ends with the
// thread that calls Start (see Bind).
func Start(name, program, log string, args ...string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the program has its own copy
	p := &Process{Name: name, cmd: Command(program, args...), log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	Bind(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Terminate sends SIGTERM and does not wait.
func (p *Process) Terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Kill ends the program and the processes that it started with SIGKILL, and waits.
func (p *Process) Kill() error {
	err := KillGroup(p.cmd)
	<-p.done
	return err
}

// Stop ends the program with SIGTERM. It returns an error if the program had ended before, ended
// with an error, or had to be killed after StopWithin. On a nil Process, which was never started,
// it does nothing.
func (p *Process) Stop() error {
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
		return fmt.Errorf("%s ended during the run: %v\n%s", p.Name, p.err, p.Tail())
	default:
	}
	if err := p.Terminate(); err != nil {
		return err
	}
	select {
	case <-p.done:
		var exit *exec.ExitError
		if errors.As(p.err, &exit) && exit.ExitCode() > 0 {
			return fmt.Errorf("%s ended with an error after SIGTERM: %v\n%s", p.Name, p.err, p.Tail())
		}
		return nil
	case <-time.After(StopWithin):
		return errors.Join(fmt.Errorf("%s did not stop within %s of SIGTERM and was killed\n%s", p.Name, StopWithin, p.Tail()), p.Kill())
	}
}

// Tail returns the end of the program's output.
func (p *Process) Tail() string { return Tail(p.log) }

// Tail returns the end of a file, or why it is unreadable.
func Tail(file string) string {
	const most = 4096
	raw, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-most):])
}

// AwaitOK polls url until the status is 200. It fails if one of the programs ends, if ctx ends, or
// after ReadyWithin.
func AwaitOK(ctx context.Context, url string, needs ...*Process) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return poll(ctx, url+" answers 200", needs, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return errors.New("no answer")
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
}

// AwaitListening polls a TCP address until it accepts connections. It fails as AwaitOK does.
func AwaitListening(ctx context.Context, addr string, needs ...*Process) error {
	return poll(ctx, addr+" accepts connections", needs, func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// poll calls try until it succeeds. what names the condition in errors.
func poll(ctx context.Context, what string, needs []*Process, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, ReadyWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		last := try(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			err := fmt.Errorf("not within %s: %s (last: %w)", ReadyWithin, what, last)
			for _, p := range needs {
				err = fmt.Errorf("%w\n%s says:\n%s", err, p.Name, p.Tail())
			}
			return err
		}
		for _, p := range needs {
			select {
			case <-p.done:
				return fmt.Errorf("%s ended before %s: %v\n%s", p.Name, what, p.err, p.Tail())
			default:
			}
		}
	}
}

// EnvBuilt names a directory, by an absolute path, with programs that were built of the sources at hand, each with the
// name of its package's folder. Build takes them from there. Unset: it builds all.
const EnvBuilt = "PROGRAMS_BUILT"

// Build builds packages of this module into the directory dir. The current directory must be the
// root of the repository.
func Build(ctx context.Context, dir string, packages ...string) error {
	packages, err := takeBuilt(os.Getenv(EnvBuilt), dir, packages)
	if err != nil || len(packages) == 0 {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-buildvcs=false", "-o", dir + "/"}, packages...)...)
	Bind(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build (run this from the root of the repository): %w\n%s", err, out)
	}
	return nil
}

// takeBuilt links the programs of packages that are in the directory built into dir, and returns the other packages.
func takeBuilt(built, dir string, packages []string) (left []string, err error) {
	if built == "" {
		return packages, nil
	}
	for _, pkg := range packages {
		name := path.Base(pkg)
		program := filepath.Join(built, name)
		if info, err := os.Stat(program); err != nil || info.IsDir() {
			left = append(left, pkg)
		} else if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return left, nil
}
