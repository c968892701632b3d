package dispatch

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A disabled backend with private lists is not read for callers: it gets nothing of them, delays none, and its names stay its own.
func TestDisabledPrivateLists(t *testing.T) {
	h, asked := hanging(t, "h", "h_")
	free := &fake{name: "f", tools: []*pb.Tool{{Name: "free"}}}
	d := startPlaced(t, nil, placed{fake: h, ownLists: time.Hour}, placed{fake: free})
	d.Catalog().Disable(off("backend:h"))
	ann := mcp.Principal{Subject: "ann", Issuer: "i"}
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience) // only a failure takes that long
	defer cancel()
	do := func(method mcp.Method, params string) (string, error) {
		r := request(t, method, params)
		r.Principal = ann
		var err error
		if r.Target, err = d.Resolve(ctx, rules(t, modern), r); err != nil {
			return "", err
		}
		reply, err := d.Call(ctx, rules(t, modern), r, nil)
		return string(reply.Result), err
	}
	if got, err := do(mcp.MethodToolsList, `{}`); err != nil || !strings.Contains(got, `"free"`) {
		t.Errorf("listed %s, %v", got, err)
	}
	if _, err := do(mcp.MethodToolsCall, `{"name":"h_hers"}`); kindOf(t, err) != mcp.KindUnknownTool {
		t.Errorf("what only it may have: %v", err)
	}
	if _, err := do(mcp.MethodResourcesRead, `{"uri":"x://unknown"}`); kindOf(t, err) == mcp.KindTimeout {
		t.Errorf("an unknown resource: %v", err)
	}
	d.catalog.Describe(ctx, rules(t, modern), "", ann)
	feed, err := d.Changes(ctx, "", ann, mcp.Filter{Tools: true, URIs: []string{"x://unknown"}})
	if err != nil {
		t.Fatal(err)
	}
	feed.Close()
	if n := asked.Load(); n != 0 {
		t.Errorf("the disabled backend was read for a caller %d times", n)
	}
}

// A disabled backend that is away makes no view incomplete.
func TestDisabledBackendsAreNotMissed(t *testing.T) {
	d := startPlaced(t, nil, placed{fake: &fake{name: "h"}, away: true}, placed{fake: &fake{name: "f"}})
	if !d.catalog.Shared().Incomplete() {
		t.Fatal("the backend is not away")
	}
	d.Catalog().Disable(off("backend:h"))
	if d.catalog.Shared().Incomplete() {
		t.Error("a disabled backend is missed")
	}
}
