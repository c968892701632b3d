package mcp

import (
	"net/netip"
	"testing"
)

func TestCountedAddress(t *testing.T) {
	for of, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::", "2001:db8:1:2:ffff::": "2001:db8:1:2::", "2001:db8:1:3::": "2001:db8:1:3::",
		"fe80::1%eth0": "fe80::",
	} {
		if got := CountedAddress(netip.MustParseAddr(of)); got != netip.MustParseAddr(want) {
			t.Errorf("%s: %v, want %s", of, got, want)
		}
	}
	if got := CountedAddress(netip.Addr{}); got.IsValid() {
		t.Errorf("no address: %v", got)
	}
}
