package main

import (
	"bufio"
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// started runs an edge with a settings file until stop is called. log returns what the edge has
// printed to stderr.
func started(t *testing.T, file string) (log func() string, stop func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stderr
	os.Stderr = w
	var mu sync.Mutex
	var text strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			mu.Lock()
			_, _ = text.WriteString(scanner.Text() + "\n")
			mu.Unlock()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--config", file}) }()
	log = func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := await.Receive(t, "the end", ended); err != nil {
			t.Error(err)
		}
		os.Stderr = was
		_ = w.Close()
		<-read
		_ = r.Close()
	})
	t.Cleanup(stop)
	return log, stop
}
