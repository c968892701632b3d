package stateful

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// An address may begin a burst of sessions up to the limit, which refills over the period. Other
// addresses are unaffected. A network of 64 bits counts as one address. Callers without an address
// are not limited.
func TestSessionsOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAddresses(10, time.Hour)
		begun := func(address string, tries int) (n int) {
			for range tries {
				if a.begin(netip.MustParseAddr(address)) {
					n++
				}
			}
			return n
		}
		for _, c := range []struct {
			after   time.Duration
			address string
			want    int
		}{
			{0, "192.0.2.1", 10}, {0, "192.0.2.1", 0}, {0, "::ffff:192.0.2.1", 0}, {0, "192.0.2.2", 10},
			{0, "2001:db8::1", 10}, {0, "2001:db8::2", 0}, {0, "2001:db8:0:1::1", 10},
			{6 * time.Minute, "192.0.2.1", 1}, {time.Hour, "192.0.2.1", 10},
		} {
			time.Sleep(c.after)
			if got := begun(c.address, 20); got != c.want {
				t.Errorf("after %s %s begins %d, want %d", c.after, c.address, got, c.want)
			}
		}
		for range 100 {
			if !a.begin(netip.Addr{}) {
				t.Fatal("a caller without an address is refused")
			}
		}
	})
}

// The tracked addresses are bounded, and dropped once their burst has refilled.
func TestAddressesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAddresses(2, time.Hour)
		network := func(i int) netip.Addr {
			b := [16]byte{0: 0x20, 1: 1}
			binary.BigEndian.PutUint32(b[4:], uint32(i))
			return netip.AddrFrom16(b)
		}
		refused := 0
		for i := range maxAddresses + 10 {
			if !a.begin(network(i)) {
				refused++
			}
		}
		if len(a.begun) != maxAddresses || refused != 8 {
			t.Errorf("%d addresses are remembered, %d refused; want %d, and 8 of the 10 that share two", len(a.begun), refused, maxAddresses)
		}
		time.Sleep(time.Hour)
		if !a.begin(network(-1)) || len(a.begun) != 1 {
			t.Errorf("an hour later %d addresses are remembered, want 1", len(a.begun))
		}
	})
}
