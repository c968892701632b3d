package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// mostLines is how long an example's own code may be, without blank lines and comments.
const mostLines = 165

// documented is the address that the READMEs tell to listen on.
const documented = "127.0.0.1:50051"

// example is one backend: a folder whose README says in two commands how to build and how to run it.
type example struct {
	name, dir  string
	build, run string
	addr       string // where it listens in this run
	process    *process
}

var block = regexp.MustCompile("(?s)```sh\n(.*?)\n```")

// read takes the commands from the README's first block of them.
func (e *example) read(readme string) error {
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	m := block.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s has no block of commands: begin one with ```sh", readme)
	}
	lines := strings.Split(string(m[1]), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], documented) {
		return fmt.Errorf("%s: the first block of commands must be two lines: build, and run on %s", readme, documented)
	}
	e.build, e.run = lines[0], lines[1]
	return nil
}

// make builds the example as its README says, with the output in a log of its own.
func (e *example) make(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", e.build)
	cmd.Dir = e.dir
	bindToParent(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	out, err := cmd.CombinedOutput()
	if werr := os.WriteFile(filepath.Join(results, e.name+"-build.log"), out, 0o644); werr != nil {
		return errors.Join(err, werr)
	}
	if err != nil {
		return fmt.Errorf("%s in %s: %w\n%s", e.build, e.dir, err, last(out))
	}
	return nil
}

// start runs the example as its README says, but on an address of its own.
func (e *example) start(addr string) (err error) {
	e.addr = addr
	command := "exec " + strings.ReplaceAll(e.run, documented, addr)
	e.process, err = start(e.name, e.dir, filepath.Join(results, e.name+".log"), "sh", "-c", command)
	return err
}

// awaitListening returns when the example accepts connections. It gives up when the example ends, when
// ctx does, and after readyWithin.
func (e *example) awaitListening(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", e.addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-poll.C:
		case <-e.process.done:
			return fmt.Errorf("%s ended at once: %v\n%s", e.name, e.process.err, e.process.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen on %s: %w\n%s", e.name, e.addr, err, e.process.tail())
		}
	}
}

// comment matches lines that are blank or nothing but a comment in one of the languages.
var comment = regexp.MustCompile(`^\s*($|//|#([^\[]|$)|/\*|\*|"""[^"]*"""$)`)

// size says that the example's own code is longer than it may be; nil: it is not. Generated and build
// files do not count.
func (e *example) size() error {
	total, files := 0, 0
	err := filepath.WalkDir(e.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (strings.HasPrefix(name, ".") || generated[name]):
			return filepath.SkipDir
		case d.IsDir() || !sources[filepath.Ext(name)] || name == "build.rs":
			return nil
		}
		n, err := count(path)
		total, files = total+n, files+1
		return err
	})
	switch {
	case err != nil:
		return err
	case files == 0:
		return fmt.Errorf("%s has no source files", e.dir)
	case total > mostLines:
		return fmt.Errorf("%s has %d lines of code: at most %d", e.dir, total, mostLines)
	}
	return nil
}

var (
	sources   = map[string]bool{".py": true, ".ts": true, ".java": true, ".rs": true, ".go": true}
	generated = map[string]bool{"node_modules": true, "dist": true, "gen": true, "target": true, "mcpedge": true}
)

func count(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if !comment.MatchString(lines.Text()) {
			n++
		}
	}
	return n, lines.Err()
}

// last is the end of an output.
func last(out []byte) []byte {
	const most = 4096
	return out[max(0, len(out)-most):]
}
