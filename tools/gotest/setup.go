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
	// envNeeds has what the tests need beside Go, words between spaces: redis-server.
	envNeeds = "GOTEST_NEEDS"
	// envLeftOut is a file for the line about what was left out, for whoever prints it at the very end; unset:
	// it is printed.
	envLeftOut = "GOTEST_LEFT_OUT"
	// envProgram and envLeaveOut are package tests/helpers/redisserver's EnvProgram and EnvLeaveOut.
	envProgram  = "MCPEDGE_REDIS_SERVER"
	envLeaveOut = "MCPEDGE_LEAVE_OUT_REDIS"
	// oldest is the oldest major version of Redis that the tests run on.
	oldest = 7
	// installWithin bounds one command of a package manager.
	installWithin = 5 * time.Minute
	howToInstall  = "install redis-server or valkey-server, version 7 or later, such as with apt-get install redis-server, " +
		"dnf install redis, apk add redis or brew install redis, and run it again"
)

// manager is a package manager and how it installs a Redis, each way in turn until one works.
type manager struct {
	program string
	// root: it installs for root alone.
	root bool
	ways [][]string
}

var managers = []manager{
	{"apt-get", true, [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "redis-server"}, {"install", "-y", "-qq", "valkey-server"}}},
	{"dnf", true, [][]string{{"install", "-y", "-q", "redis"}, {"install", "-y", "-q", "valkey"}}},
	{"apk", true, [][]string{{"add", "--quiet", "redis"}, {"add", "--quiet", "valkey"}}},
	{"brew", false, [][]string{{"install", "--quiet", "redis"}, {"install", "--quiet", "valkey"}}},
}

// setup is what the machine lacked for a run.
type setup struct {
	out io.Writer
	// without says why tests that need a Redis are left out; empty: they are not.
	without string
	// env is added to the environment of the tests.
	env []string
}

// prepare installs what the tests need where it can. An error means that nothing should be run: in CI nothing
// may be left out.
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

// raceOrNot takes -race out where there is no C compiler. ok: it was not there, or may stay.
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

// findRedis finds a server that is new enough; an empty path says why there is none.
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

// installRedis tries the machine's package managers. What a failing one says is printed: the tests go on
// without.
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

// conclude says, last, what was left out and how to get it.
func (s *setup) conclude(leftOut int) {
	if s.without == "" {
		return
	}
	line := fmt.Sprintf("%d tests were left out, since %s: %s\n", leftOut, s.without, howToInstall)
	if path := os.Getenv(envLeftOut); path == "" || os.WriteFile(path, []byte(line), 0o644) != nil {
		_, _ = io.WriteString(s.out, line)
	}
}
