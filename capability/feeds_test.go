package capability_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func expect[M any](t *testing.T, stream grpc.ServerStreamingClient[M], what string, is func(*M) bool) {
	t.Helper()
	m, err := stream.Recv()
	if err != nil || !is(m) {
		t.Fatalf("got %v, %v, want %s", m, err, what)
	}
}

func TestListFeeds(t *testing.T) {
	s := capability.New("feeds", "1", capability.WithTools())
	c := capabilitytest.Start(t, s)
	var tools []grpc.ServerStreamingClient[mcpedgev1.WatchToolsResponse]
	for range 2 {
		stream, err := c.Tools.WatchTools(limit(t), &mcpedgev1.WatchToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, stream, "started", func(m *mcpedgev1.WatchToolsResponse) bool { return m.GetStarted() != nil })
		tools = append(tools, stream)
	}
	prompts, err := c.Prompts.WatchPrompts(limit(t), &mcpedgev1.WatchPromptsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, prompts, "started", func(m *mcpedgev1.WatchPromptsResponse) bool { return m.GetStarted() != nil })

	toolsChanged := func(m *mcpedgev1.WatchToolsResponse) bool { return m.GetChanged() != nil }
	changes := []func(){
		func() { addTool(s, "new", func(context.Context, *capability.Call) (string, error) { return "", nil }) },
		func() {
			if !s.RemoveTool("new") || s.RemoveTool("new") {
				t.Error("RemoveTool is wrong about what was there")
			}
		},
		s.ToolsChanged,
	}
	for _, change := range changes {
		change()
		for _, stream := range tools {
			expect(t, stream, "changed", toolsChanged)
		}
	}
	promptsChanged := func(m *mcpedgev1.WatchPromptsResponse) bool { return m.GetChanged() != nil }
	addPrompt(s, "p", "x")
	expect(t, prompts, "changed", promptsChanged)
	s.RemovePrompt("p")
	expect(t, prompts, "changed", promptsChanged)

	s.Close()
	if _, err := tools[0].Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("a feed of a stopping service ended with %v", err)
	}
}

func TestResourceFeeds(t *testing.T) {
	n := &notes{names: []string{"a"}, watches: make(chan string, 4)}
	s := library(n)
	c := capabilitytest.Start(t, s)
	watch := func(uri string) (grpc.ServerStreamingClient[mcpedgev1.WatchResourceResponse], context.CancelFunc) {
		ctx, cancel := context.WithCancel(limit(t))
		stream, err := c.Resources.WatchResource(ctx, &mcpedgev1.WatchResourceRequest{Uri: uri})
		if err != nil {
			t.Fatal(err)
		}
		return stream, cancel
	}
	started := func(m *mcpedgev1.WatchResourceResponse) bool { return m.GetStarted() != nil }
	updated := func(uri string) func(*mcpedgev1.WatchResourceResponse) bool {
		return func(m *mcpedgev1.WatchResourceResponse) bool { return m.GetUpdated().GetUri() == uri }
	}
	one, stopOne := watch("note://a")
	expect(t, one, "started", started)
	if got := <-n.watches; got != "begin" {
		t.Errorf("the provider got %q", got)
	}
	all, stopAll := watch("note://")
	expect(t, all, "started", started)
	n.updated("note://b")
	n.updated("note://a")
	expect(t, one, "a", updated("note://a"))
	expect(t, all, "b", updated("note://b"))
	expect(t, all, "a", updated("note://a"))
	stopOne()
	stopAll()
	if got := <-n.watches; got != "end" {
		t.Errorf("the provider got %q", got)
	}
	refused, stop := watch("file:///none")
	defer stop()
	if _, err := refused.Recv(); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown URI: %v", err)
	}

	lists, err := c.Resources.WatchResources(limit(t), &mcpedgev1.WatchResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, lists, "started", func(m *mcpedgev1.WatchResourcesResponse) bool { return m.GetStarted() != nil })
	<-n.watches
	later := &notes{watches: make(chan string, 2)}
	for _, change := range []func(){
		s.ResourcesChanged,
		func() { s.RemoveResource("file:///logo") },
		func() { s.RemoveTemplate("weather://{city}/{day}") },
		func() { s.Provide("later://", later) },
	} {
		change()
		expect(t, lists, "changed", func(m *mcpedgev1.WatchResourcesResponse) bool { return m.GetChanged() != nil })
	}
	if got := <-later.watches; got != "begin" {
		t.Errorf("a provider added while the list is watched got %q", got)
	}
}

// broken is a provider whose Watch fails.
type broken struct{ notes }

func (*broken) Watch(func(string), func()) (func(), error) { panic("boom") }

func TestABrokenWatchIsRefused(t *testing.T) {
	s := capability.New("feeds", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	s.Provide("x://", &broken{})
	c := capabilitytest.Start(t, s)
	for range 2 {
		stream, err := c.Resources.WatchResource(limit(t), &mcpedgev1.WatchResourceRequest{Uri: "x://a"})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := stream.Recv(); status.Code(err) != codes.Unavailable {
			t.Errorf("%v, %v", m, err)
		}
	}
}

func TestFeedsCoalesceForASlowWatcher(t *testing.T) {
	s := capability.New("feeds", "1")
	s.Provide("x://", &notes{watches: make(chan string, 2)})
	c := capabilitytest.Start(t, s)
	stream, err := c.Resources.WatchResource(limit(t), &mcpedgev1.WatchResourceRequest{Uri: "x://"})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, stream, "started", func(m *mcpedgev1.WatchResourceResponse) bool { return m.GetStarted() != nil })
	for i := range 100_000 { // never blocks, although no watcher receives
		s.ResourceUpdated(fmt.Sprint("x://", i%7))
	}
	s.ResourceUpdated("x://last")
	seen := 0
	for {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if m.GetUpdated().GetUri() == "x://last" {
			break
		}
	}
	if seen >= 100_000 {
		t.Errorf("%d events: nothing was coalesced", seen)
	}
}
