package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is one child.
type process struct {
	cmd *exec.Cmd
	// addr is where it serves, the first of addrs.
	addr  string
	addrs []string
	// admin has its profiles; "": none.
	admin string
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// awaitReady polls, as often as told, until an edge is ready.
func (p *process) awaitReady(every time.Duration) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := get("http://" + p.admin + "/readyz")
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not get ready: %w", strings.Join(p.cmd.Args, " "), err)
		}
		time.Sleep(every)
	}
}

// cpu is the CPU time that it has used so far.
func (p *process) cpu() (time.Duration, error) { return cpu(p.cmd.Process.Pid) }

// mallocs counts its allocations so far. It must have profiles.
func (p *process) mallocs() (uint64, error) {
	m, err := p.memory("allocs?debug=1")
	return m["Mallocs"], err
}

// memory reads the counters of the Go runtime's memory at the end of a profile.
func (p *process) memory(profile string) (map[string]uint64, error) {
	resp, err := http.Get("http://" + p.admin + "/debug/pprof/" + profile)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	_, counters, ok := bytes.Cut(text, []byte("# runtime.MemStats\n"))
	if !ok {
		return nil, fmt.Errorf("%s: the profile has no counters: %.200q", resp.Status, text)
	}
	return memStats(string(counters)), nil
}

// memStats parses lines as "# Mallocs = 1" or "# Stack = 1 / 2", of which the first number counts.
func memStats(text string) map[string]uint64 {
	m := map[string]uint64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != "#" || f[2] != "=" {
			continue
		}
		if n, err := strconv.ParseUint(f[3], 10, 64); err == nil {
			m[f[1]] = n
		}
	}
	return m
}

// resident is the process's memory as the kernel counts it, in bytes.
func (p *process) resident() (uint64, error) { return p.counted("VmRSS:") }

// anonymous is what of that is no part of a file, such as the program's.
func (p *process) anonymous() (uint64, error) { return p.counted("RssAnon:") }

// counted is one of the kernel's counts.
func (p *process) counted(label string) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == label {
			n, err := strconv.ParseUint(f[1], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("the kernel does not tell %s of a process", label)
}

// firstLine reads no further than the line.
func firstLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := r.Read(b); err != nil {
			return string(line), err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
}
