package backend

import (
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// An address where calls fail gets none while others serve, and gets them again after a while. Without Outliers it goes on
// getting its turns.
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

// Every field of Outliers reaches gRPC, or its default does.
func TestOutliersInTheServiceConfig(t *testing.T) {
	for name, c := range map[string]struct {
		outliers *Outliers
		want     string
	}{
		"none": {nil, `{"loadBalancingConfig":[{"round_robin":{}}]}`},
		"defaults": {&Outliers{}, `{"loadBalancingConfig":[{"outlier_detection_experimental":{` +
			`"baseEjectionTime":"30.000000000s","childPolicy":[{"round_robin":{}}],"failurePercentageEjection":{` +
			`"enforcementPercentage":100,"minimumHosts":2,"requestVolume":50,"threshold":85},"interval":"10.000000000s",` +
			`"maxEjectionPercent":50,"maxEjectionTime":"300.000000000s"}}]}`},
		"all": {
			&Outliers{Interval: 1500 * time.Millisecond, Ejection: time.Second, Failures: 1, Calls: 2, MaxEjected: 3},
			`{"loadBalancingConfig":[{"outlier_detection_experimental":{` +
				`"baseEjectionTime":"1.000000000s","childPolicy":[{"round_robin":{}}],"failurePercentageEjection":{` +
				`"enforcementPercentage":100,"minimumHosts":2,"requestVolume":2,"threshold":1},"interval":"1.500000000s",` +
				`"maxEjectionPercent":3,"maxEjectionTime":"10.000000000s"}}]}`,
		},
	} {
		got := serviceConfig(c.outliers, HealthOff)
		if got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}
