package web

import (
	"net/http"
	"net/netip"
)

// Address returns the network address of a request's client, as [Proxies.Address] does for
// Options.Proxies; the zero Addr if the server does not know it.
func (g *Guard) Address(r *http.Request) netip.Addr { return g.o.Proxies.Address(r) }
