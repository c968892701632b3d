// Command go-sdk drives an edge with the official Go SDK, once in every revision that both the SDK and
// the transport have.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"time"
)

// patience bounds every step.
const patience = 60 * time.Second

// options is what the command line says: where the edge is.
type options struct {
	dir, url, cut, drain, sse string

	command []string // that serves on its standard input and output
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "directory that is served as file: resources")
	flag.StringVar(&o.url, "url", "", "Streamable HTTP endpoint")
	flag.StringVar(&o.cut, "cut", "", "address that breaks all connections when it is posted to")
	flag.StringVar(&o.drain, "drain", "", "address that ends the replica which serves the most calls when it is posted to")
	flag.StringVar(&o.sse, "sse", "", "HTTP+SSE endpoint")
	flag.Parse()
	o.command = flag.Args()
	if o.dir == "" || (o.url == "" || o.cut+o.drain == "") && o.sse == "" && len(o.command) == 0 {
		fmt.Fprintln(os.Stderr, "give --dir DIR, and one of: --url URL with --cut URL or --drain URL, --sse URL, -- COMMAND ARGUMENTS…")
		os.Exit(2)
	}
	var err error
	if o.dir, err = filepath.Abs(o.dir); err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Println("FAILED", err)
		os.Exit(1)
	}
}

// revisions lists those that the transport in use has.
func (o options) revisions() []string {
	switch {
	case o.sse != "":
		return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
	case o.url != "":
		return []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	}
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
}

func run(o options) error {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/modelcontextprotocol/go-sdk" {
				fmt.Println("uses", m.Path, m.Version)
			}
		}
	}
	for _, version := range o.revisions() {
		v := newVisit(o, version)
		if err := v.step("connect", v.connect); err != nil {
			return err
		}
		if err := v.all(); err != nil {
			return errors.Join(err, v.session.Close())
		}
		if err := v.step("close", func(context.Context) error { return v.session.Close() }); err != nil {
			return err
		}
	}
	return nil
}

// all does the steps of a connected visit; the first that fails ends it.
func (v *visit) all() error {
	for _, s := range []struct {
		name string
		do   func(context.Context) error
		has  bool // whether the revision and the transport have it
	}{
		{"lists", v.lists, true},
		{"structured output", v.structured, true},
		{"mistakes", v.mistakes, true},
		{"progress and log", v.eventful, true},
		{"cancellation", v.cancellation, true},
		{"elicitation", v.elicitation, v.version >= "2025-06-18"},
		{"sampling", v.sampling, true},
		{"roots", v.roots, true},
		{"read", v.read, true},
		{"template and completion", v.template, true},
		{"subscribe", v.subscribe, true},
		{"prompt", v.prompt, true},
		{"resume", v.resume, v.options.cut != "" && !v.modern()},
		{"a replica drained in a call", v.drained, v.options.drain != "" && v.version == newestWithSessions},
		{"a replica killed in a call", v.killed, v.options.drain != "" && v.version == newestWithSessions},
	} {
		if !s.has {
			continue
		}
		if err := v.step(s.name, s.do); err != nil {
			return err
		}
	}
	return nil
}

// newestWithSessions is the revision in which replicas are drained and killed, once: it leaves one, which the steps after it
// do not mind.
const newestWithSessions = "2025-11-25"

// step does one step and says so.
func (v *visit) step(name string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s %s: %w", v.version, name, err)
	}
	fmt.Println("ok", v.version, name)
	return nil
}

// equal is an error unless got is deeply equal to want.
func equal(what string, got, want any) error {
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return fmt.Errorf("%s: expected %#v, got %#v", what, want, got)
}

// next takes what is due from a channel.
func next[T any](ctx context.Context, what string, from <-chan T) (T, error) {
	select {
	case x := <-from:
		return x, nil
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%s: %w", what, ctx.Err())
	}
}
