package dispatch

import (
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Calls and reads go to the backend that has replaced another one, although it lists the same.
func TestReplacedBackendGetsTheCalls(t *testing.T) {
	same := func() *fake {
		return &fake{name: "one", tools: []*pb.Tool{{Name: "find"}}, prompts: []*pb.Prompt{{Name: "ask"}}, resources: []*pb.Resource{{Uri: "x:1", Name: "x"}},
			templates: []*pb.ResourceTemplate{{UriTemplate: "y:{id}", Name: "y"}}}
	}
	was, is := same(), same()
	d, pool := startPool(t, Options{Catalog: catalog.Options{Jitter: -1}}, was)
	next, err := pool.Prepare([]backend.Config{{Name: "one", Revision: "2", Target: is.serve(t), Timeout: 20 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if untried := next.Await(t.Context()); len(untried) > 0 {
		t.Fatalf("%q were not tried", untried)
	}
	digest := d.Catalog().Shared().Digest()
	d.Catalog().Replace(nil, nil, func() { next.Apply(time.Minute) }, false)
	if now := d.Catalog().Shared().Digest(); now != digest {
		t.Errorf("the lists are not the same: %+v, %+v", now, digest)
	}
	for method, params := range map[mcp.Method]string{
		mcp.MethodToolsCall: `{"name":"find"}`, mcp.MethodPromptsGet: `{"name":"ask"}`, mcp.MethodResourcesRead: `{"uri":"x:1"}`,
	} {
		before, _ := is.seen()
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, method, params), nil); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		if after, _ := is.seen(); after != before+1 {
			t.Errorf("%s: the new backend has %d calls after %d", method, after, before)
		}
	}
	if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"y:1"}`), nil); err != nil {
		t.Error(err)
	}
	if n, _ := was.seen(); n != 0 {
		t.Errorf("the replaced backend has %d calls", n)
	}
}
