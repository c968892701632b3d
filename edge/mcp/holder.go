package mcp

import (
	"net/netip"

	"github.com/mcpedge/mcpedge/edge/budget"
)

// HolderOf returns the holder that is charged for the memory that the edge holds for a caller: the
// caller's principal or, without a subject, its address, as [CountedAddress] counts it. All callers
// without either share a holder. It returns nil for a nil budget.
func HolderOf(b *budget.Budget, p Principal, from netip.Addr) *budget.Holder {
	if b == nil {
		return nil
	}
	if p.SubjectIsClient {
		return b.Client(p.Issuer, p.Subject)
	}
	return b.Holder(p.Issuer, p.Subject, CountedAddress(from))
}
