package tasks

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestFailuresHaveTexts: every failure of a task has its own kind and text, with its values.
func TestFailuresHaveTexts(t *testing.T) {
	tasks := &Tasks{o: Options{Lifetime: time.Hour}.withDefaults()}
	r := &medium.Record{}
	r.Lapses = 3
	for f := call.Late; f <= call.NoClient; f++ {
		err := mcp.AsError(tasks.failureOf(r, f, nil))
		if err.Message == "" || strings.ContainsAny(err.Message, "{}%") || err.Kind == 0 {
			t.Errorf("failure %d is %v, %q", f, err.Kind, err.Message)
		}
	}
	if err := tasks.failureOf(r, call.Late, nil); err.Error() != "the task did not end within 1h0m0s, answers of the client included" {
		t.Error(err)
	}
	if err := tasks.failureOf(r, call.Poison, nil); !strings.HasPrefix(err.Error(), "3 servers were lost,") {
		t.Error(err)
	}
}

// A takeover is logged in one line by the replica that took over: with the call, as the lines of its
// requests, and the target.
func TestTakeoverIsLogged(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		log := new(logged)
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		a, b := w.replica(), w.replica(func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) })
		id := a.begin("gate", "lost")
		var call string
		await.Until(t, "the call", func() bool {
			w.backend.ids.Range(func(id, _ any) bool { call = id.(string); return false })
			return call != ""
		})
		a.cut.off.Store(true)
		await.Until(t, "the takeover", func() bool { return strings.Contains(log.String(), "took over") })
		want := `msg="took over a call from a lost replica" task=` + telemetry.SessionPrint(id) + " call=" + call + " target=gate method=tools/call round=1"
		if got := log.String(); !strings.Contains(got, want) || strings.Count(got, "took over") != 1 {
			t.Errorf("the log lacks one line with %s:\n%s", want, got)
		}
		close(w.backend.gate("lost"))
		b.awaits(id, Completed)
	})
}

// logged is a log that a test reads while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
