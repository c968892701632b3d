package mcp

import (
	"net/netip"

	"github.com/mcpedge/mcpedge/edge/budget"
)

// HolderOf is who is charged with the memory that a caller has the edge hold: its principal or, without a subject, its
// address, as [CountedAddress] counts it. Callers of whom neither is known are one holder. nil on a nil budget.
func HolderOf(b *budget.Budget, p Principal, from netip.Addr) *budget.Holder {
	if b == nil {
		return nil
	}
	if p.SubjectIsClient {
		return b.Client(p.Issuer, p.Subject)
	}
	return b.Holder(p.Issuer, p.Subject, CountedAddress(from))
}
