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
	// envDir has, in the namespaces, the folder that Main made for the engine. Unset: this is the program outside.
	envDir = "MCPEDGE_ENGINE_DIR"
	// envWithout has why there are no namespaces, and no engine in them.
	envWithout = "MCPEDGE_ENGINE_WITHOUT"
	// envLeftOut is gotest's: a file for the line about what was left out.
	envLeftOut = "GOTEST_LEFT_OUT"
)

// Main is TestMain of a package whose tests need an engine. It installs what is missing of programs, runs prepare outside the
// namespaces, which is where the network is, and then the tests inside. Where there can be no engine the tests are left out, and in
// CI (CI=true) they fail.
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

// inside runs this program in namespaces of its own and removes what it leaves behind.
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
	// A signal ends the tests by the death of their first process, and what they left is removed here. A program that is killed
	// takes its tests along, too: the pipe from which they would read ends, see enter.
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

// enter makes the namespaces fit for an engine: what is mounted here stays here, /proc shows the processes of here, /run is empty,
// so that no other engine is found there, and the loopback interface is up.
func enter() error {
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // ends with the program outside
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

// group is the control group of all containers of the engine in a folder.
func group(dir string) string { return filepath.Base(dir) }

// removeGroups removes the control groups below one, in every hierarchy. They are empty: their processes have ended.
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
		for i := len(all) - 1; i >= 0; i-- { // the inner ones first
			err = errors.Join(err, os.Remove(all[i]))
		}
	}
	return err
}

// skip leaves a test out where Main found no engine to be had.
func skip(t testing.TB) {
	t.Helper()
	if why := os.Getenv(envWithout); why != "" {
		t.Skip("left out: " + strings.TrimSpace(why))
	}
}
