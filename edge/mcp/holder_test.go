package mcp

import (
	"net/netip"
	"testing"

	"github.com/mcpedge/mcpedge/edge/budget"
)

func TestHolderOf(t *testing.T) {
	b := budget.New(1000)
	addr := netip.MustParseAddr
	alice := Principal{Issuer: "i", Subject: "alice"}
	of := func(p Principal, a string) *budget.Holder { return HolderOf(b, p, addr(a)) }
	if of(alice, "192.0.2.1") != of(alice, "2001:db8::1") {
		t.Error("a principal is two holders at two addresses")
	}
	if of(Principal{}, "2001:db8::1") != of(Principal{}, "2001:db8::ffff:2") || of(Principal{}, "192.0.2.1") != of(Principal{}, "::ffff:192.0.2.1") {
		t.Error("one network is two holders")
	}
	if of(Principal{}, "2001:db8::1") == of(Principal{}, "2001:db8:0:1::1") || of(Principal{}, "192.0.2.1") == of(alice, "192.0.2.1") {
		t.Error("two are one holder")
	}
	if HolderOf(nil, alice, addr("192.0.2.1")) != nil {
		t.Error("a holder without a budget")
	}
}
