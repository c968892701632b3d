package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// runtimeKind is what a client's program runs on.
type runtimeKind struct {
	program string // name of the file that makes a folder a client of this kind
	pins    string // file that names every package exactly; empty: the module's own go.mod does
	cache   string // folder, beside it, that packages, or the built program, are put into
	// fill installs the pinned packages into the cache of dir.
	fill func(ctx context.Context, dir string) error
	// start is the command line that starts the program.
	start func(ctx context.Context, dir string) ([]string, error)
}

var kinds = []runtimeKind{
	{program: "main.mjs", pins: "package-lock.json", cache: "node_modules", fill: npmInstall, start: startNode},
	{program: "main.py", pins: "requirements.txt", cache: ".venv", fill: pipInstall, start: startPython},
	{program: "main.go", cache: ".bin", fill: goBuild, start: startBuilt},
	{program: "src/Main.java", pins: "pom.xml", cache: "target", fill: mavenFetch, start: startJava},
	{program: "src/Main.kt", pins: "pom.xml", cache: "target", fill: mavenFetch, start: startJava}, // its class is called Main, too
	{program: "src/main.rs", pins: "Cargo.lock", cache: "target", fill: cargoFetch, start: startRust},
}

// install fills the cache of dir unless it was filled from the same pins, and reports whether it did.
// What has no pins is built anew: the compiler has a cache of its own.
func (k runtimeKind) install(ctx context.Context, dir string) (fresh bool, err error) {
	if k.pins == "" {
		return false, k.fill(ctx, dir)
	}
	pins, err := os.ReadFile(filepath.Join(dir, k.pins))
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(pins)
	want := hex.EncodeToString(sum[:])
	stamp := filepath.Join(dir, k.cache, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return false, nil
	}
	if err := os.RemoveAll(filepath.Join(dir, k.cache)); err != nil {
		return false, err
	}
	if err := k.fill(ctx, dir); err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(stamp), 0o755); err != nil {
		return false, err
	}
	return true, os.WriteFile(stamp, []byte(want), 0o644)
}

// installAll installs what the clients need, one after the other in their order, beside whatever else is done, and returns
// for each a function that waits until that is done and says what went wrong. Once ctx ends the rest fails at once. One at
// a time, since Maven may not write its repository twice at a time; runs take longer than installations.
func installAll(ctx context.Context, clients []*client) (waits []func() error) {
	var ends []chan error
	for range clients {
		end := make(chan error, 1)
		ends = append(ends, end)
		waits = append(waits, sync.OnceValue(func() error { return <-end }))
	}
	go func() {
		runtime.LockOSThread() // until the last child has ended, see process.Bind
		for i, c := range clients {
			ends[i] <- c.install(ctx)
		}
	}()
	return waits
}

// command runs a program in dir; need is what the user has to have for it.
func command(ctx context.Context, dir, need, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	process.Bind(cmd)
	cmd.Cancel = func() error { return process.KillGroup(cmd) }
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s in %s: %w (%s)\n%s", filepath.Base(program), strings.Join(args, " "), dir, err, need, out)
	}
	return nil
}

func npmInstall(ctx context.Context, dir string) error {
	return command(ctx, dir, "npm and access to its packages are needed", "npm", "ci", "--ignore-scripts", "--loglevel=error")
}

// startNode starts the program by the Node.js among the packages, else the system's, if it is of the major version
// that the package file asks for.
func startNode(ctx context.Context, dir string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return nil, err
	}
	var manifest struct{ Engines struct{ Node string } }
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return nil, fmt.Errorf("package.json in %s: %w", dir, err)
	}
	var least int
	if _, err := fmt.Sscanf(manifest.Engines.Node, ">=%d", &least); err != nil {
		return nil, fmt.Errorf("package.json in %s: engines.node is %q; write \">=\" and a major version", dir, manifest.Engines.Node)
	}
	var found []string
	for _, candidate := range []string{filepath.Join(dir, "node_modules", ".bin", "node"), "node"} {
		out, err := exec.CommandContext(ctx, candidate, "--version").Output()
		if err != nil {
			continue
		}
		var major int
		if _, err := fmt.Sscanf(string(out), "v%d", &major); err == nil && major >= least {
			return []string{candidate, filepath.Join(dir, "main.mjs")}, nil
		}
		found = append(found, strings.TrimSpace(string(out)))
	}
	return nil, fmt.Errorf("no Node.js %d or later (found %q): install it", least, found)
}

func pipInstall(ctx context.Context, dir string) error {
	const need = "python3 of 3.10 or later with venv, and access to its packages are needed"
	if err := command(ctx, dir, need, "python3", "-m", "venv", ".venv"); err != nil {
		return err
	}
	python, err := filepath.Abs(filepath.Join(dir, ".venv", "bin", "python"))
	if err != nil {
		return err
	}
	return command(ctx, dir, need, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
}

// startPython starts the program by the Python of the virtual environment.
func startPython(ctx context.Context, dir string) ([]string, error) {
	python := filepath.Join(dir, ".venv", "bin", "python")
	if err := exec.CommandContext(ctx, python, "--version").Run(); err != nil {
		return nil, fmt.Errorf("%s does not run: %w; remove %s and run again", python, err, filepath.Join(dir, ".venv"))
	}
	return []string{python, filepath.Join(dir, "main.py")}, nil
}

const needGo = "Go and access to its modules are needed"

func goBuild(ctx context.Context, dir string) error {
	if err := goModules(ctx, dir); err != nil {
		return err
	}
	return command(ctx, dir, needGo, "go", "build", "-buildvcs=false", "-o", filepath.Join(".bin", "client"), ".")
}

// goModules downloads the modules that the program needs. Go does not repeat a download that fails, as the other package managers do.
func goModules(ctx context.Context, dir string) error {
	err := command(ctx, dir, needGo, "go", "list", "-deps", ".")
	if err == nil || ctx.Err() != nil {
		return err
	}
	fmt.Printf("once more: %v\n", err)
	return command(ctx, dir, needGo, "go", "list", "-deps", ".")
}

func startBuilt(_ context.Context, dir string) ([]string, error) {
	return []string{filepath.Join(dir, ".bin", "client")}, nil
}

const needMaven = "Java 17 or later, Maven 3.8 or later and access to their packages are needed"

// mavenFetch compiles the client, with what it depends on in target/lib.
func mavenFetch(ctx context.Context, dir string) error {
	return command(ctx, dir, needMaven, "mvn", "-q", "process-classes")
}

// startJava compiles what has changed since and starts the program.
func startJava(ctx context.Context, dir string) ([]string, error) {
	if err := command(ctx, dir, needMaven, "mvn", "-q", "-o", "process-classes"); err != nil {
		return nil, err
	}
	return []string{"java", "-cp", filepath.Join(dir, "target", "classes") + ":" + filepath.Join(dir, "target", "lib", "*"), "Main"}, nil
}

func cargoFetch(ctx context.Context, dir string) error {
	return command(ctx, dir, "cargo and access to its crates are needed", "cargo", "fetch", "--quiet", "--locked")
}

// startRust builds the program, whose compiler has a cache of its own, and starts it.
func startRust(ctx context.Context, dir string) ([]string, error) {
	err := command(ctx, dir, "cargo of 1.88 or later is needed", "cargo", "build", "--quiet", "--locked", "--offline")
	return []string{filepath.Join(dir, "target", "debug", "client")}, err
}
