package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// pages hold, each for one language, all that leads from an empty folder to a tool in a client.
const pages = "docs/backends"

var (
	fenced = regexp.MustCompile("(?s)(?:Write `([^`]+)`:\n\n)?```([a-z]+)\n(.*?)\n```")
	// addresses are those that the pages use.
	addresses = []string{"127.0.0.1:50051", "127.0.0.1:50052", "127.0.0.1:50053", "127.0.0.1:8080", "127.0.0.1:9090"}
)

// mostCode is how many lines the first tool of a page may have, without blank ones.
var mostCode = map[string]int{"java": 15, "python": 10, "rust": 15, "typescript": 10}

// manifests are files that say what a program needs, and are not counted.
var manifests = []string{"Cargo.toml", "package.json", "pom.xml", "tsconfig.json"}

// firstTool follows a page up to its first heading, in an empty folder, and is an error unless the client there sees the tool. It prints what
// that takes; the time is not bounded, as it is the machine's, too.
func (w *world) firstTool(ctx context.Context, language string) error {
	file := pageOf(language)
	page, err := read(file)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(page, "\n## ")
	start := time.Now()
	cost, err := w.follow(ctx, file, first, "nothing breaks the contract", `"name":"greet"`)
	took := time.Since(start)
	if err != nil {
		return err
	}
	fmt.Printf("      %s: %d lines of code and %d commands from an empty folder to the tool, in %.1f s\n", language, cost.code, cost.commands, took.Seconds())
	if most, bounded := mostCode[language]; bounded && cost.code > most {
		return fmt.Errorf("%s: the first tool has %d lines, above %d", file, cost.code, most)
	}
	return nil
}

// rest follows what a page says after its first heading, if it has commands.
func (w *world) rest(ctx context.Context, language string) error {
	file := pageOf(language)
	page, err := read(file)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(page, "\n## ")
	if !strings.Contains(rest, "```sh\n") {
		return nil
	}
	_, err = w.follow(ctx, file, rest, "nothing breaks the contract")
	return err
}

// identity is the page of services that know nothing of MCP and check who calls.
const identity = folder + "/reflect/desk/README.md"

// callers follows that page, and is an error unless each service knows its caller.
func (w *world) callers(ctx context.Context) error {
	page, err := read(identity)
	if err != nil {
		return err
	}
	_, err = w.follow(ctx, identity, page, `"caller":"ann of acme"`, `"caller":"one who has the key"`, `"caller":"someone of acme in request r-1"`,
		`the backend "by-tenant" requires principal.claims.tenant, which the caller does not have`,
		`1 round and 0 events: {"caller":"someone of acme in request "}`, "nothing breaks the contract")
	return err
}

// pageOf is the file with the page of a language.
func pageOf(language string) string { return pages + "/" + language + ".md" }

// read is a page, with free ports in place of those that it names.
func read(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	ports, err := freePorts(len(addresses))
	if err != nil {
		return "", err
	}
	page := string(text)
	for i, a := range addresses {
		page = strings.ReplaceAll(page, a, ports[i])
	}
	return page, nil
}

// cost is what a reader has to type.
type cost struct {
	code     int // lines of files, without blank ones
	commands int
}

// count adds the lines of a file, or the commands of a block of them: what begins a line, and what follows && in it.
func (c *cost) count(file, content string) {
	for line := range strings.Lines(content) {
		switch {
		case strings.TrimSpace(line) == "":
		case file != "":
			c.code++
		case !strings.HasPrefix(line, " "):
			c.commands += 1 + strings.Count(line, " && ")
		}
	}
}

// follow does what a part of a page says, word by word, in an empty folder. It is an error unless its commands print what is wanted.
func (w *world) follow(ctx context.Context, page, part string, wanted ...string) (cost, error) {
	var all cost
	dir, err := os.MkdirTemp(w.dir, strings.ReplaceAll(strings.TrimSuffix(page, ".md"), "/", "-")+"-")
	if err != nil {
		return all, err
	}
	script := "set -e\n"
	for _, m := range fenced.FindAllStringSubmatch(part, -1) {
		switch file, kind, content := m[1], m[2], m[3]; {
		case file != "":
			if !slices.Contains(manifests, file) {
				all.count(file, content)
			}
			path := filepath.Join(dir, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content+"\n"), 0o644)); err != nil {
				return all, err
			}
		case kind == "sh":
			all.count("", content)
			script += content + "\n"
		}
	}
	out, err := w.shell(ctx, dir, script)
	if werr := os.WriteFile(filepath.Join(results, filepath.Base(dir)+".log"), out, 0o644); werr != nil {
		return all, errors.Join(err, werr)
	}
	if err != nil {
		return all, fmt.Errorf("%s: %w\n%s", page, err, last(out))
	}
	for _, want := range wanted {
		if !strings.Contains(string(out), want) {
			return all, fmt.Errorf("%s: %q is missing in what its commands print\n%s", page, want, last(out))
		}
	}
	return all, nil
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
