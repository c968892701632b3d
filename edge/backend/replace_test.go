package backend

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/connectivity"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// given is a configured backend, which is not listed without a request.
func given(name, target, revision string) Config {
	return Config{Name: name, Target: target, Refresh: time.Hour, Revision: revision}
}

// prepared prepares backends, and fails the test if it cannot.
func prepared(t *testing.T, p *Pool, cfgs ...Config) *Replacement {
	t.Helper()
	r, err := p.Prepare(cfgs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Backends are added, changed, moved and removed together: not before Apply, and then with the
// lists that were read meanwhile.
func TestReplace(t *testing.T) {
	first, second := newFake("a"), newFake("b")
	one, _ := first.serve(t, "")
	two, _ := second.serve(t, "")
	p, _, changes := started(t, given("kept", one, "1"), fast)
	await.Receive(t, "the first", changes)
	add := prepared(t, p, given("kept", one, "1"), given("changed", one, "1"), given("removed", one, "1"))
	add.Await(t.Context())
	add.Apply(0)
	for range 2 {
		await.Receive(t, "an added one", changes)
	}
	before := p.Backends()
	if err := p.Discover([]Config{found("n/s", one, "1")}, 0); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "the discovered one", changes)

	r := prepared(t, p, given("new", two, "1"), given("changed", two, "2"), given("kept", one, "1"))
	if untried := r.Await(t.Context()); len(untried) > 0 {
		t.Errorf("%q were not tried", untried)
	}
	if got := named(p); !slices.Equal(got, []string{"kept", "changed", "removed", "n/s"}) || !slices.Equal(p.Backends()[:3], before) {
		t.Errorf("before they are applied, the backends are %q", got)
	}
	select {
	case c := <-changes:
		t.Errorf("a change of %v is reported of a backend that is not in the pool", c.kinds)
	default:
	}
	r.Apply(0)
	all := p.Backends()
	if got := named(p); !slices.Equal(got, []string{"new", "changed", "kept", "n/s"}) || all[1] == before[1] || all[2] != before[0] {
		t.Errorf("the backends are %q: want the unchanged one kept, and the changed one replaced", got)
	}
	for _, b := range all[:2] {
		if !slices.Equal(names(b.Catalog()), []string{"b"}) || b.Discovered() {
			t.Errorf("%s lists %q", b.Name(), names(b.Catalog()))
		}
	}
	for range 4 { // two are gone, two are new
		if got := await.Receive(t, "a change", changes); got.kinds != allKinds {
			t.Errorf("%v changed, want all", got.kinds)
		}
	}
}

// A call that runs at a changed backend ends on the connection that it began on.
func TestReplacedBackendEndsItsCalls(t *testing.T) {
	target, _ := newFake("slow").serve(t, "")
	p, b, changes := started(t, given("b", target, "1"), fast)
	await.Receive(t, "its list", changes)
	release, err := b.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	prepared(t, p, given("b", freeAddr(t), "2")).Apply(time.Minute)
	if p.Backends()[0] == b {
		t.Fatal("it was not replaced")
	}
	for until := time.Now().Add(4 * fast.lingering); time.Now().Before(until); {
		if _, err := b.Tools().ListTools(t.Context(), &pb.ListToolsRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	release()
	await.Until(t, "it to be closed", func() bool { return b.conn.GetState() == connectivity.Shutdown })
}

// What cannot be prepared changes nothing, and what is not applied is closed.
func TestReplacementThatIsNotApplied(t *testing.T) {
	target, _ := newFake("a").serve(t, "")
	p, b, _ := started(t, given("b", target, "1"), fast)
	if err := p.Discover([]Config{found("n/s", target, "1")}, 0); err != nil {
		t.Fatal(err)
	}
	for want, cfgs := range map[string][]Config{
		`two backends are named "x"`:           {given("x", target, "1"), given("x", target, "2")},
		`two backends are named "b"`:           {given("b", target, "1"), given("b", target, "1")},
		`a discovered backend is named "n/s"`:  {given("n/s", target, "1")},
		`"x" has no target`:                    {given("b", target, "2"), given("x", "", "1")},
		`"x": timeout is -1s: it must be posi`: {{Name: "x", Target: target, Timeout: -time.Second}},
	} {
		if _, err := p.Prepare(cfgs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	r := prepared(t, p, given("b", target, "2"), given("c", freeAddr(t), "1"))
	r.Await(t.Context())
	fresh := slices.Clone(r.fresh)
	r.Discard()
	late := prepared(t, p, given("d", target, "1"))
	p.Close()
	late.Await(t.Context())
	late.Apply(0)
	for _, one := range append(fresh, late.fresh...) {
		if state := one.conn.GetState(); state != connectivity.Shutdown {
			t.Errorf("the connection of %s is %v", one.Name(), state)
		}
	}
	if got := p.Backends(); got[0] != b || len(got) != 2 {
		t.Errorf("the backends are %q", named(p))
	}
	if _, err := p.Prepare([]Config{given("e", target, "1")}); err == nil {
		t.Error("a closed pool takes backends")
	}
}

// Await ends with its context, and names the backends that did not answer; before the start of the
// pool it waits for nothing.
func TestReplacementAwaits(t *testing.T) {
	f := newFake("a")
	target, _ := f.serve(t, "")
	idle, err := NewPool(nil, Options{tune: &fast})
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	r := prepared(t, idle, given("b", target, "1"))
	if untried := r.Await(t.Context()); untried != nil {
		t.Errorf("%q were not tried before the start", untried)
	}
	r.Apply(0)
	idle.Start(t.Context())
	ready(t, idle)

	silent, err := net.Listen("tcp", "127.0.0.1:0") // A backend that answers may be tried before Await.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	r = prepared(t, idle, given("c", silent.Addr().String(), "1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if untried := r.Await(ctx); !slices.Equal(untried, []string{"c"}) {
		t.Errorf("%q were not tried", untried)
	}
	r.Discard()
}
