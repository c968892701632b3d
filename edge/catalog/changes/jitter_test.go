package changes

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// List changes are delayed by at most the jitter. Updates of resources are not delayed.
func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(New(nil, Options{Jitter: time.Hour}), "", mcp.Principal{})
		defer f.Close()
		f.kinds = allKinds
		begun := time.Now()
		f.listsChanged(backend.Tools)
		f.updated(&watch{uri: "x:1"}, "x:1")
		if got := next2(t, f); len(got) != 1 || got[0].Kind != mcp.ResourceUpdated || time.Since(begun) != 0 {
			t.Errorf("got %v after %v", got, time.Since(begun))
		}
		go func() {
			time.Sleep(time.Millisecond)
			f.listsChanged(backend.Prompts)
		}()
		if got := next2(t, f); len(got) == 0 || got[0].Kind != mcp.ToolsChanged || time.Since(begun) > time.Hour {
			t.Errorf("got %v after %v", got, time.Since(begun))
		}
		synctest.Wait()
	})
}

func next2(t *testing.T, f *feed) []mcp.Change {
	t.Helper()
	got, err := f.Next(t.Context(), 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
