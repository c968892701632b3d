package matrix

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/edge/app"
)

// stdioLink is a client that has an edge of its own at the other end of two pipes.
type stdioLink struct {
	in    inbox
	stdin *io.PipeWriter
	read  sync.WaitGroup
	ended chan error
	once  sync.Once
}

func dialStdio(t *testing.T, backends []backendAddr, _ string, in inbox) link {
	cfg := settings(t, backends)
	a, err := app.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	fromClient, stdin := io.Pipe()
	stdout, toClient := io.Pipe()
	l := &stdioLink{in: in, stdin: stdin, ended: make(chan error, 1)}
	go func() { l.ended <- a.Stdio(context.Background(), fromClient, toClient) }()
	l.read.Go(func() {
		lines := bufio.NewReader(stdout)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			in.receive(line)
		}
	})
	return l
}

func (l *stdioLink) send(m outgoing) {
	if _, err := l.stdin.Write(append(m.raw, '\n')); err != nil {
		l.in.fault("%s: %v", m.method, err)
	}
}

func (l *stdioLink) leave(string) bool { return false }

func (l *stdioLink) stop() { _ = l.stdin.Close() }

func (l *stdioLink) close() {
	l.once.Do(func() {
		l.stop()
		l.read.Wait()
		if err := <-l.ended; err != nil {
			l.in.fault("the edge ended with: %v", err)
		}
	})
}
