package main

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// installable is a client that fill installs.
func installable(t *testing.T, name string, fill func(ctx context.Context, dir string) error) *client {
	t.Helper()
	return &client{name: name, dir: t.TempDir(), kind: runtimeKind{
		fill: fill,
		start: func(context.Context, string) ([]string, error) {
			return []string{name}, nil
		},
	}}
}

// TestInstallAll: installations are done in the order of the clients, one waits for none after it, and one that fails
// takes its output with it and no other client.
func TestInstallAll(t *testing.T) {
	var order []string
	begun, goOn := make(chan struct{}), make(chan struct{})
	clients := []*client{
		installable(t, "good", func(context.Context, string) error {
			order = append(order, "good")
			return nil
		}),
		installable(t, "bad", func(ctx context.Context, dir string) error {
			order = append(order, "bad")
			close(begun)
			<-goOn
			return command(ctx, dir, "something is needed", "sh", "-c", "echo no such package >&2; exit 3")
		}),
		installable(t, "last", func(context.Context, string) error {
			order = append(order, "last")
			return nil
		}),
	}
	waits := installAll(t.Context(), clients)
	if err := waits[0](); err != nil || !slices.Equal(clients[0].args, []string{"good"}) {
		t.Errorf("the first client: %v, it is started by %q", err, clients[0].args)
	}
	<-begun // the next one is begun without being waited for
	close(goOn)
	if err := waits[2](); err != nil || !slices.Equal(clients[2].args, []string{"last"}) {
		t.Errorf("the client after the failed one: %v, it is started by %q", err, clients[2].args)
	}
	for range 2 {
		if err := waits[1](); err == nil || !strings.Contains(err.Error(), "no such package") {
			t.Errorf("the failed installation says %v, want its output", err)
		}
	}
	if want := []string{"good", "bad", "last"}; !slices.Equal(order, want) {
		t.Errorf("installed in the order %q, want %q", order, want)
	}
}

// TestInstallAllUntilCancelled: what is installed is ended, and what comes after it is not begun.
func TestInstallAllUntilCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	run := func(ctx context.Context, dir string) error {
		return command(ctx, dir, "something is needed", "sleep", "1000")
	}
	waits := installAll(ctx, []*client{
		installable(t, "long", func(ctx context.Context, dir string) error {
			close(begun)
			return run(ctx, dir)
		}),
		installable(t, "later", run),
	})
	<-begun
	cancel()
	for i, wait := range waits {
		if err := wait(); err == nil {
			t.Errorf("installation %d succeeded", i)
		}
	}
}
