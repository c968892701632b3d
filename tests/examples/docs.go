package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// pages hold, each for one language, all that leads from an empty folder to a tool in a client.
const pages = "docs/backends"

// fromNothing are the languages whose page does so by itself; the others start from an example.
var fromNothing = []string{"go", "python", "rust", "typescript"}

var (
	fenced = regexp.MustCompile("(?s)(?:Write `([^`]+)`:\n\n)?```([a-z]+)\n(.*?)\n```")
	// addresses are those that the pages use.
	addresses = []string{"127.0.0.1:50051", "127.0.0.1:50052", "127.0.0.1:8080", "127.0.0.1:9090"}
)

// follow does what a page says, word by word but for the ports, in an empty folder, and is an error
// unless the client at its end sees the tool.
func (w *world) follow(ctx context.Context, language string) (err error) {
	text, err := os.ReadFile(filepath.Join(pages, language+".md"))
	if err != nil {
		return err
	}
	ports, err := freePorts(len(addresses))
	if err != nil {
		return err
	}
	page := string(text)
	for i, a := range addresses {
		page = strings.ReplaceAll(page, a, ports[i])
	}
	dir, err := os.MkdirTemp(w.dir, language+"-")
	if err != nil {
		return err
	}
	script := "set -e\n"
	for _, m := range fenced.FindAllStringSubmatch(page, -1) {
		switch file, kind, content := m[1], m[2], m[3]; {
		case file != "":
			path := filepath.Join(dir, file)
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			if err == nil {
				err = os.WriteFile(path, []byte(content+"\n"), 0o644)
			}
			if err != nil {
				return err
			}
		case kind == "sh":
			script += content + "\n"
		}
	}
	out, err := w.shell(ctx, dir, script)
	if werr := os.WriteFile(filepath.Join(results, language+"-page.log"), out, 0o644); werr != nil {
		return errors.Join(err, werr)
	}
	if err != nil {
		return fmt.Errorf("%s/%s.md: %w\n%s", pages, language, err, last(out))
	}
	for _, want := range []string{"nothing breaks the contract", `"name":"greet"`} {
		if !strings.Contains(string(out), want) {
			return fmt.Errorf("%s/%s.md: %q is missing in what its commands print\n%s", pages, language, want, last(out))
		}
	}
	return nil
}

// shell runs a script in dir, with mcpedge on the PATH, and ends whatever it left running.
func (w *world) shell(ctx context.Context, dir, script string) ([]byte, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	out, err := os.CreateTemp(w.dir, "page-")
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MCPEDGE="+root, "PATH="+w.dir+string(os.PathListSeparator)+os.Getenv("PATH"),
		// Rust: what the library's own checks have compiled is not compiled again.
		"CARGO_TARGET_DIR="+filepath.Join(root, "sdk/rust/target"), "CARGO_PROFILE_DEV_DEBUG=0")
	// Files, not pipes: what goes on running in the background holds them open.
	cmd.Stdout, cmd.Stderr = out, out
	bindToParent(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	err = cmd.Run()
	if kerr := killGroup(cmd); err == nil {
		err = kerr
	}
	text, rerr := os.ReadFile(out.Name())
	return text, errors.Join(err, rerr)
}

// pageSays is an error unless the language's page has the commands of the example's README.
func (e *example) pageSays() error {
	text, err := os.ReadFile(filepath.Join(pages, e.name+".md"))
	if err != nil {
		return err
	}
	if want := "```sh\n" + e.build + "\n" + e.run + "\n```"; !strings.Contains(string(text), want) {
		return fmt.Errorf("%s/%s.md lacks the commands of the example:\n%s", pages, e.name, want)
	}
	return nil
}
