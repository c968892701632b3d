package dispatch

import (
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// slowLists is a Visibility that shows everything. It blocks while it makes the lists of the subject "slow", once blocks is set.
type slowLists struct {
	blocks         atomic.Bool
	begun, release chan struct{}
}

func (s *slowLists) May(*mcp.Principal, *policy.Target) bool { return true }

func (s *slowLists) Lists(who *mcp.Principal) (string, func(*policy.Target) bool) {
	if who.Subject == "slow" && s.blocks.CompareAndSwap(true, false) {
		s.begun <- struct{}{}
		<-s.release
	}
	return who.Subject, func(*policy.Target) bool { return true }
}

// TestDisabledBeforeDigests: what an operator disables is refused while the lists of subscribers are still compared, and so is what is
// disabled meanwhile.
func TestDisabledBeforeDigests(t *testing.T) {
	slow := &slowLists{begun: make(chan struct{}, 1), release: make(chan struct{})}
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "a"}, {Name: "b"}}}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Visibility: func() catalog.Visibility { return slow }}}, f)
	feed, err := d.Changes(t.Context(), "", mcp.Principal{Issuer: "i", Subject: "slow"}, mcp.Filter{Tools: true})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	call := func(name string) error {
		_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"`+name+`","arguments":{}}`), nil)
		return err
	}
	for _, name := range []string{"a", "b"} {
		if err := call(name); err != nil {
			t.Fatalf("%s before: %v", name, err)
		}
	}
	slow.blocks.Store(true)
	done := make(chan struct{}, 2)
	disable := func(what ...string) {
		d.Catalog().Disable(off(what...))
		done <- struct{}{}
	}
	go disable("tool:one/a")
	await.Receive(t, "the comparison of lists", slow.begun)
	if err := call("a"); kindOf(t, err) != mcp.KindForbidden {
		t.Errorf("a is served while lists are compared: %v", err)
	}
	go disable("tool:one/a", "tool:one/b")
	await.Receive(t, "the second change", done)
	if err := call("b"); kindOf(t, err) != mcp.KindForbidden {
		t.Errorf("b is served: %v", err)
	}
	close(slow.release)
	await.Receive(t, "the first change", done)
	if changes, err := feed.Next(t.Context(), 0); err != nil || len(changes) == 0 {
		t.Errorf("the subscriber was sent %v, %v", changes, err)
	}
}

// TestDisabledForPrivateLists: subscribers with private lists are notified of a disabled tool without a comparison of their lists.
func TestDisabledForPrivateLists(t *testing.T) {
	slow := &slowLists{begun: make(chan struct{}, 1), release: make(chan struct{})}
	close(slow.release)
	p := &fake{name: "two", tools: []*pb.Tool{{Name: "a"}}, own: map[string][]*pb.Tool{"slow": {{Name: "mine"}}}}
	p.cache = &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Visibility: func() catalog.Visibility { return slow }}}, p)
	who := mcp.Principal{Issuer: "i", Subject: "slow"}
	feed, err := d.Changes(t.Context(), "", who, mcp.Filter{Tools: true})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	slow.blocks.Store(true)
	d.Catalog().Disable(off("tool:two/mine"))
	if changes, err := feed.Next(t.Context(), 0); err != nil || len(changes) == 0 {
		t.Errorf("the subscriber was sent %v, %v", changes, err)
	}
	if !slow.blocks.Load() {
		t.Error("the lists of the subscriber were made")
	}
	r := request(t, mcp.MethodToolsCall, `{"name":"mine","arguments":{}}`)
	r.Principal = who
	if _, err := d.Call(t.Context(), rules(t, modern), r, nil); kindOf(t, err) != mcp.KindForbidden {
		t.Errorf("it is called: %v", err)
	}
}
