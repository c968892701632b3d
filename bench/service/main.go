// Command service is the gRPC service that both the edge and the bare bridge call in the benchmarks: one
// backend, or several in one process.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/fixture"
	"github.com/mcpedge/mcpedge/capability"
)

func main() {
	backends := flag.Int("backends", 1, "how many backends to be, each on a port of its own")
	tools := flag.Int("tools", fixture.Called, "how many tools to offer in all: beyond those that are called, they are spread over the backends")
	flag.Parse()
	var (
		addrs    []any
		failures = make(chan error)
	)
	for k := range *backends {
		s := capability.New(fmt.Sprintf("bench-%d", k), "1", capability.WithTools())
		if k == 0 {
			addCalled(s)
		}
		for i := k; i < *tools-fixture.Called; i += *backends {
			addListed(s, i)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		addrs = append(addrs, l.Addr())
		go func() { failures <- s.Serve(context.Background(), l) }()
	}
	fmt.Println(addrs...)
	log.Fatal(<-failures)
}

// addCalled adds what the cases call.
func addCalled(s *capability.Server) {
	capability.AddTool(s, "echo", "Echo a text", func(_ context.Context, _ *capability.Call, in fixture.Text) (string, error) {
		return in.Text, nil
	})
	capability.AddTool(s, "greet", "Greet by a name", func(_ context.Context, _ *capability.Call, in fixture.Greeting) (string, error) {
		return in.String(), nil
	})
	capability.AddTool(s, "length", "Count the bytes of a text", func(_ context.Context, _ *capability.Call, in fixture.Text) (string, error) {
		return strconv.Itoa(len(in.Text)), nil
	})
	capability.AddTool(s, "big", "Answer with a long text", func(context.Context, *capability.Call, struct{}) (string, error) {
		return fixture.BigText, nil
	})
	capability.AddTool(s, "measure", "Answer with structured content",
		func(_ context.Context, _ *capability.Call, in fixture.Text) (fixture.Measured, error) {
			return fixture.Measure(in.Text), nil
		})
	capability.AddTool(s, "tick", "Report progress with the time it was sent at", tick)
	capability.AddTool(s, "change", "Change the list of tools, and answer with the time", changer(s))
	capability.AddResource(s, &capability.Resource{Uri: fixture.BlobURI, Name: "blob", MimeType: fixture.BlobType},
		func(context.Context, *capability.Call, string) ([]byte, error) { return fixture.Blob, nil })
}

func addListed(s *capability.Server, i int) {
	name, description, schema := fixture.Listed(i)
	capability.AddTool(s, name, description, func(context.Context, *capability.Call, struct{}) (string, error) {
		return name, nil
	}, capability.InputSchema(schema))
}

type tickArgs struct {
	Events int `json:"events"`
	// PauseMillis between two events; 0: none.
	PauseMillis int `json:"pauseMillis,omitempty"`
}

// tick sends progress whose message is the time in Unix nanoseconds.
func tick(ctx context.Context, c *capability.Call, in tickArgs) (string, error) {
	for i := range in.Events {
		if in.PauseMillis > 0 {
			select {
			case <-time.After(time.Duration(in.PauseMillis) * time.Millisecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		c.Progress(float64(i+1), float64(in.Events), strconv.FormatInt(time.Now().UnixNano(), 10))
	}
	return "ticked", nil
}

// changer makes the tool that adds another to the list or, when it is there, removes it. The time it
// answers with, in Unix nanoseconds, is that of the change.
func changer(s *capability.Server) func(context.Context, *capability.Call, struct{}) (string, error) {
	var mu sync.Mutex
	return func(context.Context, *capability.Call, struct{}) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now().UnixNano()
		if !s.RemoveTool(fixture.Changing) {
			capability.AddTool(s, fixture.Changing, "Here for a while", func(context.Context, *capability.Call, struct{}) (string, error) {
				return "", nil
			})
		}
		return fmt.Sprintf("changed at %d", now), nil
	}
}
