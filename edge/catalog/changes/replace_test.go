package changes

import (
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// No digest is made before the swap; those of feeds that are notified of every kind are not made at all. Another replacement does not wait for the
// digests of one.
func TestReplaceSwapsFirst(t *testing.T) {
	w := &world{}
	h := New(w, Options{Logger: slog.New(slog.DiscardHandler)})
	f, err := h.Open(t.Context(), "", mcp.Principal{}, mcp.Filter{Tools: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var value, made atomic.Uint64
	begun, release := make(chan struct{}, 1), make(chan struct{})
	w.look = func(string, mcp.Principal) func() mcp.Digest {
		now := value.Load()
		return func() mcp.Digest {
			if made.Add(1) == 1 {
				begun <- struct{}{}
				<-release
			}
			return mcp.Digest{Tools: now}
		}
	}
	swap := func(to uint64, reach Reach) func() Reach {
		return func() Reach {
			value.Store(to)
			return reach
		}
	}
	done := make(chan struct{})
	go func() {
		h.Replace(swap(1, Differing))
		close(done)
	}()
	await.Receive(t, "the first digest", begun)
	if value.Load() != 1 {
		t.Error("a digest was made before the swap")
	}
	h.Replace(swap(2, Every))
	if value.Load() != 2 || made.Load() != 1 {
		t.Errorf("the value is %d after %d digests", value.Load(), made.Load())
	}
	if changes, err := f.Next(t.Context(), 0); err != nil || len(changes) == 0 {
		t.Errorf("the feed was sent %v, %v", changes, err)
	}
	close(release)
	await.Receive(t, "the end of the first replacement", done)
	if made.Load() != 2 {
		t.Errorf("%d digests were made", made.Load())
	}
}
