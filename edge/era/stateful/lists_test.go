package stateful

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// lagging is the backend as a replica has it that puts its changes in force later.
type lagging struct {
	*backend
	mu     sync.Mutex
	digest mcp.Digest
}

func (l *lagging) Describe(ctx context.Context, rules *revision.Rules, set string, p mcp.Principal) mcp.Description {
	d := l.backend.Describe(ctx, rules, set, p)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.digest
	d.Digest = func() mcp.Digest { return now }
	return d
}

// follow puts the changes in force.
func (l *lagging) follow() {
	d := l.backend.Describe(context.Background(), nil, "", mcp.Principal{}).Digest()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.digest = d
}

// A client that has read the old lists at a replica after the one with its stream has notified it is notified again
// once that replica has the new ones, and only then.
func TestListsOfALaggingReplica(t *testing.T) {
	const changed = `"notifications/tools/list_changed"`
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		late := &lagging{backend: w.backend}
		w.b.server = late
		list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		notified := func(x *client) int { return strings.Count(strings.Join(x.messages(), "\n"), changed) }
		want := func(what string, x *client, n int) {
			t.Helper()
			after(5 * time.Second)
			if got := notified(x); got != n {
				t.Errorf("%s: %d notifications, want %d: %q", what, got, n, x.messages())
			}
		}
		s := w.initialize(v1125)
		x := w.listen(w.a, s, "")
		w.post(w.b, s, list)
		want("before a change", x, 0)
		w.backend.change(mcp.Change{Kind: mcp.ToolsChanged})
		late.follow()
		want("both have changed", x, 1)

		w.backend.change(mcp.Change{Kind: mcp.ToolsChanged})
		after(100 * time.Millisecond)
		w.post(w.b, s, list)
		want("one has changed, and the client has read the lists of the other one", x, 2)
		late.follow()
		want("the other one has changed, too", x, 3)
		w.post(w.b, s, list)
		want("both are equal", x, 3)

		w.backend.change(mcp.Change{Kind: mcp.ToolsChanged})
		want("one has changed, and the client has read nothing", x, 4)
		late.follow()
		want("the other one has changed after nothing was read there", x, 4)
	})
}
