package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// envNeeds names the programs that the tests need, separated by spaces. The only known one is
	// redis-server.
	envNeeds = "GOTEST_NEEDS"
	// envLeftOut names a file for the line about skipped tests, so that the caller can print it
	// last. Unset prints the line.
	envLeftOut = "GOTEST_LEFT_OUT"
	// envProgram and envLeaveOut are EnvProgram and EnvLeaveOut of tests/helpers/redisserver.
	envProgram  = "MCPEDGE_REDIS_SERVER"
	envLeaveOut = "MCPEDGE_LEAVE_OUT_REDIS"
	// oldest is the oldest major version of Redis that the tests support.
	oldest = 7
	// installWithin is the timeout of one command of a package manager.
	installWithin = 5 * time.Minute
	howToInstall  = "install redis-server or valkey-server, version 7 or later, such as with apt-get install redis-server, " +
		"dnf install redis, apk add redis or brew install redis, and run it again"
)

// manager is a package manager with the commands that install Redis. They are tried in turn until
// one succeeds.
type manager struct {
	program string
	// root is true if only root can install with it.
	root bool
	ways [][]string
}

var managers = []manager{
	{"apt-get", true, [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "redis-server"}, {"install", "-y", "-qq", "valkey-server"}}},
	{"dnf", true, [][]string{{"install", "-y", "-q", "redis"}, {"install", "-y", "-q", "valkey"}}},
	{"apk", true, [][]string{{"add", "--quiet", "redis"}, {"add", "--quiet", "valkey"}}},
	{"brew", false, [][]string{{"install", "--quiet", "redis"}, {"install", "--quiet", "valkey"}}},
}

// setup prepares the machine for a run.
type setup struct {
	out io.Writer
	// without is the reason why tests that need Redis are skipped. Empty means that they run.
	without string
	// env is added to the environment of the tests.
	env []string
}

// prepare installs what the tests need, if possible, and returns the arguments of the run. In CI it
// returns an error if something is missing, because no test may be skipped there.
func (s *setup) prepare(args []string) ([]string, error) {
	ci := os.Getenv("CI") == "true"
	args, race := s.raceOrNot(args)
	if !race && ci {
		return nil, fmt.Errorf("there is no C compiler, which the race detector is linked with: install one, such as gcc")
	}
	if !slices.Contains(strings.Fields(os.Getenv(envNeeds)), "redis-server") {
		return args, nil
	}
	path, why := findRedis()
	if path == "" {
		s.installRedis()
		path, why = findRedis()
	}
	switch {
	case path != "":
		s.env = append(s.env, envProgram+"="+path)
	case ci:
		return nil, fmt.Errorf("%s: %s", why, howToInstall)
	default:
		s.without = why
		s.env = append(s.env, envLeaveOut+"=1")
	}
	return args, nil
}

// raceOrNot removes -race if there is no C compiler. ok is false if it removed it.
func (s *setup) raceOrNot(args []string) (out []string, ok bool) {
	i := slices.Index(args, "-race")
	if i < 0 {
		return args, true
	}
	compiler := "gcc"
	if cc, err := exec.Command("go", "env", "CC").Output(); err == nil && len(strings.Fields(string(cc))) > 0 {
		compiler = strings.Fields(string(cc))[0]
	}
	if _, err := exec.LookPath(compiler); err == nil {
		return args, true
	}
	fmt.Fprintf(s.out, "%s, the C compiler of go, is missing: the tests run without the race detector\n", compiler)
	return slices.Delete(slices.Clone(args), i, i+1), false
}

var versionOf = regexp.MustCompile(`v=(\d+)\.`)

// findRedis returns the path of a server that is new enough. An empty path comes with the reason.
func findRedis() (path, why string) {
	why = "redis-server is missing"
	for _, name := range []string{os.Getenv(envProgram), "redis-server", "valkey-server"} {
		if name == "" {
			continue
		}
		found, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		said, err := exec.Command(found, "--version").Output()
		if m := versionOf.FindSubmatch(said); err != nil || m == nil {
			why = fmt.Sprintf("%s does not tell its version", found)
		} else if major, _ := strconv.Atoi(string(m[1])); major < oldest {
			why = fmt.Sprintf("%s is of version %d", found, major)
		} else {
			return found, ""
		}
	}
	return "", why
}

// installRedis tries the package managers of the machine. It prints the output of failed commands;
// the tests then run without Redis.
func (s *setup) installRedis() {
	for _, m := range managers {
		program, err := exec.LookPath(m.program)
		if err != nil {
			continue
		}
		command := []string{program}
		if m.root && os.Geteuid() != 0 {
			if exec.Command("sudo", "-n", "true").Run() != nil {
				fmt.Fprintf(s.out, "%s would install redis-server, but sudo is missing or asks for a password\n", m.program)
				continue
			}
			command = []string{"sudo", "-n", program}
		}
		for _, way := range m.ways {
			line := append(slices.Clone(command), way...)
			fmt.Fprintf(s.out, "installing redis-server: %s\n", strings.Join(line, " "))
			if said, err := install(line); err != nil {
				fmt.Fprintf(s.out, "%s\n%s\n", strings.TrimSpace(said), err)
			}
			if path, _ := findRedis(); path != "" {
				return
			}
		}
	}
}

func install(line []string) (said string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), installWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "HOMEBREW_NO_AUTO_UPDATE=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// conclude prints, last, how many tests were skipped and how to run them.
func (s *setup) conclude(leftOut int) {
	if s.without == "" {
		return
	}
	line := fmt.Sprintf("%d tests were left out, since %s: %s\n", leftOut, s.without, howToInstall)
	if path := os.Getenv(envLeftOut); path == "" || os.WriteFile(path, []byte(line), 0o644) != nil {
		_, _ = io.WriteString(s.out, line)
	}
}
