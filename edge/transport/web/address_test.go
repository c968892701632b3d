package web

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestAddress(t *testing.T) {
	d := NewGuard(nil, Options{})
	for remote, want := range map[string]netip.Addr{
		"192.0.2.7:4711":        netip.MustParseAddr("192.0.2.7"),
		"[::ffff:192.0.2.7]:80": netip.MustParseAddr("192.0.2.7"),
		"[fe80::1%eth0]:80":     netip.MustParseAddr("fe80::1"),
		"@":                     {},
		"":                      {},
	} {
		if got := d.Address(&http.Request{RemoteAddr: remote}); got != want {
			t.Errorf("%q: %v, want %v", remote, got, want)
		}
	}
}
