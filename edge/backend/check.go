package backend

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc/connectivity"

	"github.com/mcpedge/mcpedge/edge/schema/portable"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Check dials one backend, calls every RPC of the contract, and writes to w what it serves and what
// breaks the contract, in plain words: lines that begin with ok, breaks or note. It makes no call that
// changes anything: of the tools it calls those marked read-only that need no arguments, and those named
// in trial, whose answers it gives; whatever else they ask, it declines.
//
// The error says that the backend cannot be reached within 10 s or before ctx ends, that a list cannot
// be read, or that the contract is broken; it is nil for a sound backend. An error of w is ignored.
func Check(ctx context.Context, cfg Config, trial *Trial, w io.Writer) error {
	return check(ctx, cfg, Options{}, trial, w)
}

func check(ctx context.Context, cfg Config, opts Options, trial *Trial, w io.Writer) error {
	tune := opts.tune
	if tune == nil {
		tune = &defaultTuning
	}
	b, err := newBackend(cfg, opts, tune, func(*Backend, Kinds) {})
	if err != nil {
		return err
	}
	defer b.close()
	_, _ = fmt.Fprintf(w, "backend %q at %s\n", b.cfg.Name, b.cfg.Target)
	reach, cancel := context.WithTimeout(ctx, tune.reach)
	defer cancel()
	if err := b.connect(reach); err != nil {
		_, _ = fmt.Fprintf(w, "  cannot be reached: %v\n", err)
		return fmt.Errorf("backend %q at %s cannot be reached: %w", b.cfg.Name, b.cfg.Target, err)
	}
	k := &keeper{b: b, retry: b.newRetry(), about: &description{}}
	if err := k.readAll(ctx, true); err != nil {
		_, _ = fmt.Fprintf(w, "  Describe fails: %v\n", err)
		return fmt.Errorf("backend %q: Describe fails: %w", b.cfg.Name, err)
	}
	found := &findings{}
	k.overview(ctx, found)
	if l := k.parts[0].list; trial != nil && l != nil {
		trial.listed = append(trial.listed, collect(l.tools, (*pb.Tool).GetName)...)
	}
	if trial != nil && trial.Pages != nil {
		for _, text := range trial.Pages(b, k.catalog()) {
			found.note("%s", text)
		}
	}
	(&prober{b: b, k: k, findings: found, trial: trial}).all(ctx)
	found.conclude()
	_, _ = io.WriteString(w, found.text.String())
	if found.mistake != "" {
		return fmt.Errorf("backend %q: %s", b.cfg.Name, found.mistake)
	}
	if found.breaches > 0 {
		return fmt.Errorf("backend %q breaks the contract in %s: %s", b.cfg.Name, count(found.breaches, "place"), found.first)
	}
	return nil
}

// connect waits until the backend is connected, or until ctx ends; the error then is why.
func (b *Backend) connect(ctx context.Context) error {
	b.conn.Connect()
	for {
		state := b.conn.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if b.conn.WaitForStateChange(ctx, state) {
			continue
		}
		if err := b.reason(b.group.ctx); err != nil {
			return err
		}
		return ctx.Err()
	}
}

// overview says what readAll found: what is served, and what is wrong with it.
func (k *keeper) overview(ctx context.Context, f *findings) {
	if k.about.told == nil {
		f.text.WriteString("  Describe: not served; the lists were tried instead\n")
	} else {
		i := k.about.told.Implementation
		fmt.Fprintf(&f.text, "  Describe: %q, version %q\n", i.GetName(), i.GetVersion())
	}
	for i := range each {
		if k.parts[i].err == nil {
			k.printList(&f.text, i)
		}
	}
	quiet := *k
	quiet.feeds = [len(each)]*feed{} // they are tried one by one
	problems, failed := quiet.problems()
	var multiplying []string
	if l := k.parts[0].list; l != nil {
		var unusable []string
		unusable, multiplying = l.schemas()
		problems = append(problems, unusable...)
	}
	for _, text := range append(failed, problems...) {
		f.breaks("%s", text)
	}
	for _, text := range multiplying {
		f.note("%s", text)
	}
	if text := k.nothing(ctx); text != "" {
		implemented := slices.ContainsFunc(k.parts[:], func(p part) bool { return p.list.served })
		if implemented && k.b.adapted == nil {
			f.note("%s", text) // it may come to serve something
		} else {
			f.breaks("%s", text)
		}
	}
	for _, text := range k.b.adapted.notes() {
		f.note("%s", text)
	}
	if l := k.parts[0].list; l != nil {
		var list *portable.List
		if !k.b.cfg.FullSchemas {
			list = portable.NewList(0)
		}
		f.lint(k.b.cfg.Prefix, l.tools, list)
	}
}

// catalog is what readAll found to be served.
func (k *keeper) catalog() *Catalog {
	now := lists{k.parts[0].list, k.parts[1].list, k.parts[2].list}
	return now.assemble(k.about.response(&now, 0))
}

// printList writes one kind that was read.
func (k *keeper) printList(w io.Writer, i int) {
	l, f := k.parts[i].list, k.feeds[i]
	if !l.served {
		_, _ = fmt.Fprintf(w, "  %s: not served\n", each[i])
		return
	}
	about := k.about.response(&lists{k.parts[0].list, k.parts[1].list, k.parts[2].list}, 0)
	feed := "no change feed"
	if f != nil && f.begun.Load() {
		feed = "change feed"
	}
	names := make([]string, 0, len(l.tools)+len(l.resources)+len(l.prompts))
	var extra []string
	switch each[i] {
	case Tools:
		names = append(names, collect(l.tools, (*pb.Tool).GetName)...)
	case Resources:
		names = append(names, collect(l.resources, (*pb.Resource).GetUri)...)
		extra = append(extra, fmt.Sprintf("%d templates", len(l.templates)), offers(about.GetResources().GetSubscribe(), "subscriptions"),
			offers(about.GetResources().GetCompletion(), "completion"))
	default:
		names = append(names, collect(l.prompts, (*pb.Prompt).GetName)...)
		extra = append(extra, offers(about.GetPrompts().GetCompletion(), "completion"))
	}
	scope := "the same for everybody"
	if l.private {
		scope = "private to each caller"
	}
	_, _ = fmt.Fprintf(w, "  %s: %d, %s\n", each[i], len(names), strings.Join(append([]string{scope, feed}, extra...), ", "))
	for _, n := range names {
		_, _ = fmt.Fprintf(w, "    %s\n", n)
	}
	for _, t := range l.templates {
		_, _ = fmt.Fprintf(w, "    %s (template)\n", t.GetUriTemplate())
	}
}

func offers(yes bool, what string) string {
	if yes {
		return what
	}
	return "no " + what
}

func collect[T any](entries []T, name func(T) string) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = name(e)
	}
	return names
}
