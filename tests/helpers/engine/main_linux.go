package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	// envDir is the directory that Main created for the engine. It is unset in the outer program.
	envDir = "MCPEDGE_ENGINE_DIR"
	// envWithout is the reason why there are no namespaces and no engine.
	envWithout = "MCPEDGE_ENGINE_WITHOUT"
	// envLeftOut is set by gotest: the file for the line about skipped tests.
	envLeftOut = "GOTEST_LEFT_OUT"
)

// Main is TestMain of a package whose tests need an engine. It installs missing programs and runs
// prepare outside the namespaces, with network access, and then the tests inside. If no engine can
// run, the tests are skipped; in CI (CI=true) they fail.
func Main(m *testing.M, programs []Program, prepare func() error) {
	if os.Getenv(envDir) != "" {
		if err := enter(); err != nil {
			fmt.Fprintln(os.Stderr, "engine:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	why := install(append(programs, programsOfEngine...))
	if why != nil {
		if os.Getenv("CI") == "true" {
			fmt.Fprintln(os.Stderr, "engine:", why)
			os.Exit(1)
		}
		line := fmt.Sprintf("the tests on a Docker engine were left out: %v\n", why)
		if file := os.Getenv(envLeftOut); file == "" || os.WriteFile(file, []byte(line), 0o644) != nil {
			fmt.Print(line)
		}
		_ = os.Setenv(envWithout, why.Error())
		os.Exit(m.Run())
	}
	if prepare != nil {
		if err := prepare(); err != nil {
			fmt.Fprintln(os.Stderr, "engine:", err)
			os.Exit(1)
		}
	}
	code, err := inside()
	if err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// inside runs this program in its own namespaces, and removes what it leaves.
func inside() (code int, err error) {
	dir, err := os.MkdirTemp("", "mcpedge-engine-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, removeGroups(group(dir)), os.RemoveAll(dir)) }()
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), envDir+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC,
	}
	// A signal ends the tests because their first process ends; the outer program removes their
	// files. If the outer program is killed, the pipe from which the tests read ends, and so do the
	// tests: see enter.
	life, err := cmd.StdinPipe()
	if err != nil {
		return 1, err
	}
	defer life.Close()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("namespaces of processes, mounts and the network: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case s := <-signals:
		_ = cmd.Process.Kill()
		<-ended
		return 1, fmt.Errorf("ended by %v", s)
	case err = <-ended:
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// enter prepares the namespaces for an engine: mounts stay inside, /proc shows the inner processes,
// /run is empty so that no other engine is found, and the loopback interface is up.
func enter() error {
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // returns when the outer program ends
		os.Exit(1)
	}()
	for _, mount := range []struct {
		what, where, kind string
		flags             uintptr
	}{
		{"none", "/", "", syscall.MS_REC | syscall.MS_PRIVATE},
		{"proc", "/proc", "proc", 0},
		{"run", "/run", "tmpfs", 0},
	} {
		if err := syscall.Mount(mount.what, mount.where, mount.kind, mount.flags, ""); err != nil {
			return fmt.Errorf("mount of %s: %w", mount.where, err)
		}
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("ip link set lo up: %w: %s", err, out)
	}
	return nil
}

// group returns the control group of all containers of the engine in a directory.
func group(dir string) string { return filepath.Base(dir) }

// removeGroups removes the control groups below one, in every hierarchy. They are empty, because
// their processes have ended.
func removeGroups(name string) (err error) {
	hierarchies, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
	for _, top := range append(hierarchies, "/sys/fs/cgroup/"+name) {
		var all []string
		_ = filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		for i := len(all) - 1; i >= 0; i-- { // inner ones first
			err = errors.Join(err, os.Remove(all[i]))
		}
	}
	return err
}

// skip skips a test if Main found no usable engine.
func skip(t testing.TB) {
	t.Helper()
	if why := os.Getenv(envWithout); why != "" {
		t.Skip("left out: " + strings.TrimSpace(why))
	}
}
