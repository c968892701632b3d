package config

import (
	"fmt"
	"net/netip"
	"time"
)

// Listen configures the listener of the MCP endpoint, and the clients that may reach it.
type Listen struct {
	// Address is the address of the MCP endpoint.
	Address string `yaml:"address" usage:"address of the MCP endpoint, served at /mcp"`
	// PublicURL is the URL of the edge as clients see it, without the path of an endpoint. If it is
	// empty and Auth is set, an Address on loopback determines it.
	PublicURL string `yaml:"public-url" usage:"URL of the edge as clients see it, such as https://mcp.example.com; its host is accepted in Host; needed with auth beyond loopback"`
	// TLS of the listener; the zero value means plain HTTP.
	TLS ListenerTLS `yaml:"tls"`
	// AllowAnonymous allows an Address beyond loopback without authentication.
	AllowAnonymous bool `yaml:"allow-anonymous" usage:"listen beyond loopback without authentication"`
	// Hosts are the accepted Host headers, beside the host of PublicURL. Empty means the names of
	// loopback and that host on a loopback listener, and any name elsewhere.
	Hosts Names `yaml:"hosts" usage:"names that the Host header may have, beside the host of public-url; none: see below"`
	// Origins of browsers that may call; "*" allows any.
	Origins Names `yaml:"origins" usage:"origins of browsers that may call; * allows any"`
	// TrustedProxies are addresses and networks (CIDR) of proxies whose forwarding headers name the
	// client's address.
	TrustedProxies Names `yaml:"trusted-proxies" usage:"addresses or networks of proxies that name their clients in X-Forwarded-For or Forwarded"`
	// SSE serves HTTP+SSE beside Streamable HTTP.
	SSE bool `yaml:"sse" usage:"serve HTTP+SSE, the oldest revision's transport, at /sse and /message"`
	// Connections bounds those of the listener; 0: 0.8 of the file descriptors of the process.
	Connections int `yaml:"connections" usage:"most connections; 0: 0.8 of the limit of open files"`
	// ConnectionAge is the age from which on a connection is closed after its next response; 0
	// means no limit.
	ConnectionAge time.Duration `yaml:"connection-age" usage:"age from which on a connection is closed after its next response, so that its client connects again, perhaps to another replica; 0: none"`
	Body          Bytes         `yaml:"body" usage:"largest request body"`
	ReadTimeout   time.Duration `yaml:"read-timeout" usage:"longest time to receive a request, from its first byte to its last"`
	WriteTimeout  time.Duration `yaml:"write-timeout" usage:"longest write to a client before it is disconnected"`
	KeepAlive     time.Duration `yaml:"keep-alive" usage:"longest silence of an open stream"`
}

func defaultListen() Listen {
	return Listen{
		Address: "127.0.0.1:8080", SSE: true,
		Body: 4<<20 - 64<<10, ReadTimeout: 30 * time.Second, WriteTimeout: 10 * time.Second, KeepAlive: 15 * time.Second,
	}
}

// validateListen checks the section, including auth.
func (c *Config) validateListen() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("listen."+format, args...)) }
	l := &c.Listen
	loopback, err := isLoopback(l.Address)
	switch {
	case err != nil:
		wrong("address: %q %s", l.Address, notAddress(l.Address))
	case !loopback && !l.AllowAnonymous && c.Auth == nil:
		wrong("address: %q is reachable from other machines without authentication: listen on 127.0.0.1, set auth, or set listen.allow-anonymous", l.Address)
	case !loopback && !l.AllowAnonymous && c.Auth.Optional:
		wrong("address: %q is reachable from other machines, and with auth.optional callers need no credentials: take that out, or set listen.allow-anonymous", l.Address)
	}
	return append(errs, l.TLS.validate("listen.tls")...)
}

// Proxies reads Listen.TrustedProxies.
func (c *Config) Proxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for i, text := range c.Listen.TrustedProxies {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			var address netip.Addr
			address, err = netip.ParseAddr(text)
			network = netip.PrefixFrom(address, address.BitLen())
		}
		if err != nil || network.Addr().Is4In6() || network.Addr().Zone() != "" {
			return nil, fmt.Errorf("listen.trusted-proxies[%d]: %q is neither an address nor a network: write one such as 10.1.2.3, 10.0.0.0/8 or fd00::/8", i, text)
		}
		out = append(out, network)
	}
	return out, nil
}
