// Command run takes the official TypeScript client on its tour: it starts an edge with the bundled
// services, installs the client's packages as locked, and runs typescript/tour.mjs against the edge.
// Call it from the root of the repository:
//
//	go run ./tests/tour/run
//
// With TOUR_COUNTS set, "<passed> <failed>" steps are written to that file. The exit status is 0 only
// when every step succeeded.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcpedge/mcpedge/tests/tour/stage"
)

const (
	folder  = "tests/tour/typescript"
	minNode = 20 // first major version of Node.js the client runs on
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	if err := checkNode(ctx); err != nil {
		return err
	}
	if err := install(ctx); err != nil {
		return err
	}
	var log bytes.Buffer
	st, err := stage.Start(ctx, &log)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, log.String())
	}
	steps := &counter{out: os.Stdout}
	cmd := exec.CommandContext(ctx, "node", "tour.mjs", st.URL, st.Dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, steps, os.Stderr
	err = cmd.Run()
	err = errors.Join(err, st.Stop()) // nobody writes to the log any more
	if err != nil {
		err = fmt.Errorf("%w\nthe log of edge and services:\n%s", err, log.String())
		steps.failed = max(steps.failed, 1)
	}
	fmt.Printf("%d passed, %d failed\n", steps.passed, steps.failed)
	return errors.Join(err, steps.write(os.Getenv("TOUR_COUNTS")))
}

// checkNode makes sure that Node.js is there and young enough.
func checkNode(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return fmt.Errorf("node: %w: install Node.js %d or later", err, minNode)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < minNode {
		return fmt.Errorf("node is %s: install %d or later", strings.TrimSpace(string(out)), minNode)
	}
	return nil
}

// install brings the packages of the lock file into place, unless they are there.
func install(ctx context.Context) error {
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("%w: run this from the root of the repository", err)
	}
	stamp := filepath.Join(folder, "node_modules", ".tour-lock")
	if done, err := os.ReadFile(stamp); err == nil && bytes.Equal(done, lock) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-progress")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.WriteFile(stamp, lock, 0o600)
}

// counter passes the tour's lines on and counts its steps.
type counter struct {
	out            io.Writer
	line           []byte
	passed, failed int
}

func (c *counter) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			c.line = append(c.line, b)
			continue
		}
		switch {
		case bytes.HasPrefix(c.line, []byte("ok ")):
			c.passed++
		case bytes.HasPrefix(c.line, []byte("FAIL ")):
			c.failed++
		}
		c.line = c.line[:0]
	}
	return c.out.Write(p)
}

func (c *counter) write(file string) error {
	if file == "" {
		return nil
	}
	return os.WriteFile(file, fmt.Appendf(nil, "%d %d\n", c.passed, c.failed), 0o600)
}
