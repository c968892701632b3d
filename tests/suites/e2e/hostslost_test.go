package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// cutStream is a request whose stream was cut with its replica: the last event id, the number of the last progress, and whether it has a
// response already.
type cutStream struct {
	sent     *sentByHost
	last     string
	progress float64
}

// lostReplica is how one of two replicas is lost under a host's call: the replica, and the call, which waits for it to be lost.
type lostReplica struct {
	*pair
	// gate is the address of the first replica, which can be cut.
	gate *replicas.Forwarder
	// halfway gets a value when the call that is to be lost has run half of its steps; release lets it end.
	halfway, release chan struct{}
}

// TestHostsLoseAReplica replays what hosts in use sent when the replica that ran one of their calls was killed, or stopped in order
// (testdata/hosts/lost), against two replicas on one Redis: each request is answered as it was. A call that was killed ends on the
// stream that the host resumes, no progress comes twice or is missing, and a call that was stopped in order ends on its own stream.
func TestHostsLoseAReplica(t *testing.T) {
	t.Parallel() // it waits for most of its time
	files, err := filepath.Glob("testdata/hosts/lost/*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var sent []sentByHost
			if err := json.Unmarshal(text, &sent); err != nil {
				t.Fatal(err)
			}
			l := startLost(t)
			h := newHost(t, "")
			h.replicas, h.gone = l.names(sent), map[string]bool{}
			for i := range sent {
				switch s := &sent[i]; s.End {
				case "":
					h.replay(s)
				case "killed":
					l.kill(h, s)
				default:
					l.stop(h, s)
				}
			}
			h.endStreams()
			close(l.release)
			l.back()
		})
	}
}

func startLost(t *testing.T) *lostReplica {
	l := &lostReplica{halfway: make(chan struct{}, 1), release: make(chan struct{})}
	var lost atomic.Bool
	l.pair = startPair(t, hostTools(func(ctx context.Context, steps int, report func(from, to int)) {
		if steps == 40 && lost.CompareAndSwap(false, true) {
			report(2, steps/2)
			l.halfway <- struct{}{}
			select {
			case <-l.release:
			case <-ctx.Done():
			}
		}
		report(2, steps)
	}))
	gate, err := replicas.Forward(l.first.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Stop)
	l.gate = gate
	return l
}

// names returns the addresses of the replicas by their recorded names: the first is the one that was lost.
func (l *lostReplica) names(sent []sentByHost) map[string]string {
	out := map[string]string{}
	for _, s := range sent {
		out[s.Replica] = "http://" + l.second.Host
	}
	for _, s := range sent {
		if s.End != "" {
			out[s.Replica] = "http://" + l.gate.Addr
		}
	}
	return out
}

// lose notes that the replica of a request is lost, so that its streams end.
func lose(h *host, s *sentByHost) {
	h.mu.Lock()
	h.gone[s.Replica] = true
	h.mu.Unlock()
}

// kill sends a call and kills its replica halfway: nothing comes from it any more, to Redis or to the host.
func (l *lostReplica) kill(h *host, s *sentByHost) {
	h.t.Helper()
	resp := h.do(h.t.Context(), s)
	defer resp.Body.Close()
	h.cut = &cutStream{sent: s}
	killed := false
	h.cut.last = h.read(resp, func(text []byte) bool {
		h.cut.follow(h, text)
		if h.cut.progress == 20 && !killed {
			await.Receive(h.t, "half of the call", l.halfway)
			killed = true
			lose(h, s)
			l.lose()
			l.gate.Switch("")
		}
		return true
	})
	h.replicas[s.Replica] = "http://" + l.second.Host
	if !killed || h.cut.progress != 20 {
		h.t.Fatalf("killed: %v, after %v steps", killed, h.cut.progress)
	}
}

// stop sends a call and stops its replica in order halfway: the call ends on its stream.
func (l *lostReplica) stop(h *host, s *sentByHost) {
	h.t.Helper()
	resp := h.do(h.t.Context(), s)
	defer resp.Body.Close()
	h.cut = &cutStream{sent: s}
	_, id := requestOf(s.Body)
	answered := false
	h.read(resp, func(text []byte) bool {
		h.cut.follow(h, text)
		if h.cut.progress == 20 && !h.gone[s.Replica] {
			await.Receive(h.t, "half of the call", l.halfway)
			lose(h, s)
			l.first.Stop()
			await.Until(h.t, "the replica drains", func() bool { return !isReady(l.first) })
			l.release <- struct{}{}
		}
		method, of := requestOf(text)
		answered = answered || method == "" && bytes.Equal(of, id)
		return true
	})
	h.replicas[s.Replica] = "http://" + l.second.Host
	if !answered || h.cut.progress != 40 {
		h.t.Errorf("answered: %v, after %v steps", answered, h.cut.progress)
	}
}

// follow checks that progress rises by one.
func (c *cutStream) follow(h *host, text []byte) {
	var m struct {
		Method string
		Params struct{ Progress float64 }
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Method != "notifications/progress" {
		return
	}
	if m.Params.Progress != c.progress+1 {
		h.t.Errorf("progress %v behind %v", m.Params.Progress, c.progress)
	}
	c.progress = m.Params.Progress
}

// isReady reports whether a replica says that it is ready.
func isReady(e *harness.Edge) bool {
	resp, err := http.Get("http://" + e.Admin + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
