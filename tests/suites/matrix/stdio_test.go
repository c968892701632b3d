package matrix

import (
	"bufio"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// stdioLink is a client that has an edge of its own at the other end of two pipes.
type stdioLink struct {
	*harness.Stdio
	in   inbox
	read sync.WaitGroup
	once sync.Once
}

func dialStdio(t *testing.T, backends []*harness.Service, _ string, in inbox) link {
	cfg := settings(t, backends)
	cfg.Set = set
	l := &stdioLink{Stdio: harness.StartStdio(t, cfg), in: in}
	l.read.Go(func() {
		lines := bufio.NewReader(l.Out)
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
	if _, err := l.In.Write(append(m.raw, '\n')); err != nil {
		l.in.fault("%s: %v", m.method, err)
	}
}

func (l *stdioLink) leave(string) bool { return false }

func (l *stdioLink) stop() { _ = l.In.Close() }

func (l *stdioLink) close() {
	l.once.Do(func() {
		l.stop()
		l.read.Wait()
		<-l.Ended()
		if err := l.Err(); err != nil {
			l.in.fault("the edge ended with: %v", err)
		}
	})
}
