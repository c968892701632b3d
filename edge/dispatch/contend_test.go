package dispatch

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// hanging returns a backend with private lists that hang for ann. asked counts her list requests.
func hanging(t *testing.T, name, prefix string) (f *fake, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return &fake{name: name, prefix: prefix, services: "t",
		cache: &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE},
		onList: func(subject string) {
			if subject == "ann" {
				asked.Add(1)
				<-over
			}
		}}, asked
}

// A call does not wait for hanging lists that cannot contain its object: a name granted to another
// backend, owned by an earlier one, or without the prefix, or a URI, if the backend has none.
// Otherwise it waits once, for a bounded time.
func TestHangingListsDelayNoOthers(t *testing.T) {
	const wait = time.Second
	for name, c := range map[string]struct {
		prefix string
		first  bool   // true: the hanging backend is the first
		call   string // a call that does not wait
	}{
		"another prefix":       {"h_", true, `{"name":"b_x"}`},
		"a name that is given": {"", true, `{"name":"b_x"}`},
		"an earlier backend's": {"", false, `{"name":"free"}`},
	} {
		h, asked := hanging(t, "h", c.prefix)
		b := &fake{name: "b", prefix: "b_", tools: []*pb.Tool{{Name: "x"}}, resources: []*pb.Resource{{Uri: "doc://1", Name: "1"}}}
		free := &fake{name: "f", tools: []*pb.Tool{{Name: "free"}}}
		order := []placed{{fake: free}, {fake: b}, {fake: h, ownLists: wait}}
		if c.first {
			order = []placed{{fake: h, ownLists: wait}, {fake: free}, {fake: b}}
		}
		d := startPlaced(t, nil, order...)
		do := func(method mcp.Method, params string) (string, error) {
			r := request(t, method, params)
			r.Principal = mcp.Principal{Subject: "ann", Issuer: "i"}
			var err error
			if r.Target, err = d.Resolve(t.Context(), rules(t, modern), r); err != nil {
				return "", err
			}
			reply, err := d.Call(t.Context(), rules(t, modern), r, nil)
			return string(reply.Result), err
		}
		if got, err := do(mcp.MethodToolsCall, c.call); err != nil || !strings.Contains(got, "called") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if got, err := do(mcp.MethodResourcesRead, `{"uri":"doc://1"}`); err != nil || !strings.Contains(got, "read from b") {
			t.Errorf("%s: a resource: %s, %v", name, got, err)
		}
		if n := asked.Load(); n != 0 {
			t.Errorf("%s: the backend was asked for its lists %d times", name, n)
		}
		// The first list request waits for the hanging lists; later ones do not.
		list := func() {
			t.Helper()
			if got, err := do(mcp.MethodToolsList, `{}`); err != nil || !strings.Contains(got, `"b_x"`) || !strings.Contains(got, `"free"`) {
				t.Errorf("%s: listed %s, %v", name, got, err)
			}
		}
		began := time.Now()
		list()
		if took := time.Since(began); took < wait {
			t.Errorf("%s: the caller's own lists were not waited for: %v", name, took)
		}
		n := asked.Load()
		view, _ := d.catalog.Of(t.Context(), "", mcp.Principal{Subject: "ann", Issuer: "i"})
		for range 5 {
			list()
		}
		if again, _ := d.catalog.Of(t.Context(), "", mcp.Principal{Subject: "ann", Issuer: "i"}); again != view {
			t.Errorf("%s: the view without those lists is made again each time", name)
		}
		if _, err := do(mcp.MethodToolsCall, `{"name":"`+c.prefix+`hers"}`); kindOf(t, err) != mcp.KindTimeout {
			t.Errorf("%s: what only it may have: %v", name, err)
		}
		if now := asked.Load(); now != n {
			t.Errorf("%s: it was asked %d times while it is known to hang", name, now-n)
		}
	}
}

// A feed opens although the caller's private lists hang at one backend.
func TestFeedsBesideListsThatHang(t *testing.T) {
	h, _ := hanging(t, "h", "")
	b := &fake{name: "b", resources: []*pb.Resource{{Uri: "doc://1", Name: "1"}}}
	d := startPlaced(t, nil, placed{fake: h, ownLists: time.Second}, placed{fake: b})
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	f, err := d.Changes(ctx, "", mcp.Principal{Subject: "ann", Issuer: "i"}, mcp.Filter{Resources: true, URIs: []string{"doc://1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := f.Honoured(); len(got.URIs) != 1 {
		t.Errorf("honoured %+v", got)
	}
}
