package backend

import (
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// An address where calls fail gets none while others serve, and gets them again after a while.
// Without Outliers it continues getting its turns.
func TestOutliersGetNoCalls(t *testing.T) {
	good, bad := newFake("a"), newFake("a")
	_, port, _ := net.SplitHostPort(freeAddr(t))
	good.serve(t, "127.0.0.1:"+port)
	bad.serve(t, "127.0.0.2:"+port)
	dns := startNameServer(t, "tools.test")
	dns.addresses.Store(&[][4]byte{{127, 0, 0, 1}, {127, 0, 0, 2}})
	target := "dns://" + dns.addr + "/tools.test:" + port
	// turns says how many of ten calls came to the bad one, whatever they ended with.
	turns := func(b *Backend) int32 {
		before := bad.described.Load()
		for range 10 {
			_, _ = b.describe(t.Context())
		}
		return bad.described.Load() - before
	}
	_, watched, _ := started(t, Config{
		Target: target, Outliers: &Outliers{Interval: time.Second, Ejection: time.Second, Calls: 5},
	}, fast)
	_, plain, _ := started(t, Config{Target: target}, fast)
	for _, b := range []*Backend{watched, plain} {
		await.Until(t, "both take turns", func() bool { return turns(b) == 5 })
	}

	described := bad.describe
	bad.set(func() { bad.describe = nil }) // UNIMPLEMENTED
	await.Until(t, "the bad one gets no calls", func() bool { return turns(watched) == 0 })
	if n := turns(plain); n != 5 {
		t.Errorf("without Outliers the bad one got %d of 10 calls, want its 5", n)
	}
	bad.set(func() { bad.describe = described })
	await.Until(t, "it gets calls again", func() bool { return turns(watched) == 5 })
}

// Addresses are judged by percentage, volume and comparison. Ejections grow, end, and never affect
// all addresses.
func TestOutliersAreJudged(t *testing.T) {
	type ended struct{ calls, failed int }
	type step struct {
		ended   map[string]ended
		ejected string // those that are ejected afterwards
	}
	good, bad := ended{10, 0}, ended{10, 10}
	for name, c := range map[string]struct {
		o     Outliers
		steps []step // one an interval, of 10 s
	}{
		"none fails":             {Outliers{Calls: 10}, []step{{map[string]ended{"a": good, "b": good}, ""}}},
		"one fails":              {Outliers{Calls: 10}, []step{{map[string]ended{"a": good, "b": bad}, "b"}}},
		"at the percentage":      {Outliers{Calls: 10, Failures: 50}, []step{{map[string]ended{"a": {10, 4}, "b": {10, 5}}, "b"}}},
		"all calls have to fail": {Outliers{Calls: 10, Failures: 100}, []step{{map[string]ended{"a": {10, 9}, "b": bad}, "b"}}},
		"too few calls":          {Outliers{Calls: 11}, []step{{map[string]ended{"a": {11, 0}, "b": bad}, ""}}},
		"nothing to compare":     {Outliers{Calls: 10}, []step{{map[string]ended{"a": {9, 0}, "b": bad}, ""}}},
		"half of them at most":   {Outliers{Calls: 10}, []step{{map[string]ended{"a": good, "b": bad}, "b"}, {map[string]ended{"a": bad, "b": bad}, "b"}}},
		"one always may be":      {Outliers{Calls: 10, MaxEjected: 1}, []step{{map[string]ended{"a": good, "b": bad}, "b"}}},
		"it ends, grows with each in a row, and is forgotten": {Outliers{Calls: 10}, []step{
			{map[string]ended{"a": good, "b": bad}, "b"}, {nil, "b"}, {nil, "b"}, {nil, ""}, // 30 s
			{map[string]ended{"a": good, "b": bad}, "b"}, {nil, "b"}, {nil, "b"}, {nil, "b"}, {nil, "b"}, {nil, "b"}, {nil, ""}, // 60 s
			{nil, ""}, {nil, ""}, // each takes one off
			{map[string]ended{"a": good, "b": bad}, "b"}, {nil, "b"}, {nil, "b"}, {nil, ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &detector{o: *c.o.withDefaults(), addresses: map[string]*addressStats{}}
			connections := map[string]*address{"a": {}, "b": {}}
			for name, a := range connections {
				a.judged = d.join(name, a)
			}
			now := time.Now()
			for n, s := range c.steps {
				for name, e := range s.ended {
					for i := range e.calls {
						var err error
						if i < e.failed {
							err = status.Error(codes.Unavailable, "broken")
						}
						connections[name].judged.count(err)
					}
				}
				now = now.Add(d.o.Interval)
				d.evaluate(now)
				got := ""
				for _, name := range []string{"a", "b"} {
					if connections[name].ejected {
						got += name
					}
				}
				if got != s.ejected {
					t.Fatalf("after interval %d ejected: %q, want %q", n+1, got, s.ejected)
				}
			}
		})
	}
}

// Errors that a caller can cause do not count against an address. A new connection to an address
// starts without a history.
func TestOutliersOfCallers(t *testing.T) {
	d := &detector{o: *(&Outliers{Calls: 1}).withDefaults(), addresses: map[string]*addressStats{}}
	a := &address{of: &addressBalancer{outliers: d}}
	j := d.join("a", a)
	for _, code := range []codes.Code{codes.OK, codes.Canceled, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied,
		codes.Unauthenticated, codes.FailedPrecondition, codes.Aborted, codes.OutOfRange} {
		if j.count(status.Error(code, "no")); j.failed.Load() != 0 {
			t.Errorf("%s counts as failed", code)
		}
	}
	second := &address{}
	d.set(j, true)
	d.join("a", second)
	if !a.ejected || !second.ejected {
		t.Errorf("ejected: %v, and another connection to it: %v", a.ejected, second.ejected)
	}
	d.leave(j, a)
	d.leave(j, second)
	third := &address{}
	if d.join("a", third); third.ejected || len(d.addresses) != 1 {
		t.Errorf("connected anew it is ejected: %v; addresses: %d", third.ejected, len(d.addresses))
	}
}

// Each field reaches the balancer, or its default does.
func TestAddressesInTheServiceConfig(t *testing.T) {
	all := Outliers{Interval: 1500 * time.Millisecond, Ejection: time.Second, Failures: 1, Calls: 2, MaxEjected: 3}
	for name, c := range map[string]struct {
		outliers, want *Outliers
		health         string
	}{
		"health alone": {nil, nil, "shop"},
		"defaults":     {&Outliers{}, &Outliers{10 * time.Second, 30 * time.Second, 85, 50, 50}, HealthOff},
		"all":          {&all, &all, ""},
	} {
		var read struct {
			LoadBalancingConfig []map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(serviceConfig(c.outliers, c.health)), &read); err != nil {
			t.Fatal(err)
		}
		got, err := addressBuilder{}.ParseConfig(read.LoadBalancingConfig[0][addressPolicy])
		if diff := cmp.Diff(&addressConfig{Health: c.health, Outliers: c.want}, got); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got\n%s", name, err, diff)
		}
	}
	if got := serviceConfig(nil, HealthOff); got != `{"loadBalancingConfig":[{"round_robin":{}}]}` {
		t.Errorf("with neither it is %s", got)
	}
	if _, err := (addressBuilder{}).ParseConfig([]byte(`[]`)); err == nil {
		t.Error("an array is taken")
	}
}
