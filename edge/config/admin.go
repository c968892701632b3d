package config

import (
	"errors"
	"fmt"
	"net"
)

// Admin configures the listener of health, readiness and administration, and its authentication.
type Admin struct {
	// Address is the address of health, readiness and administration.
	Address string `yaml:"address" usage:"address of /healthz, /readyz, /metrics and the REST API"`
	// TLS of the listener. If ClientCA is set, everything but health and readiness requires a
	// client certificate, unless Auth.ClientCert is set.
	TLS ListenerTLS `yaml:"tls"`
	// AllowRemote allows an Address beyond loopback without authentication.
	AllowRemote bool `yaml:"allow-remote" usage:"listen beyond loopback without authentication"`
	// Hosts are the accepted Host headers, except for health and readiness. Empty means the names of
	// loopback on a loopback listener, and any name elsewhere.
	Hosts Names `yaml:"hosts" usage:"names that the Host header may have"`
	// Auth configures authentication; nil disables it.
	Auth *AdminAuth `yaml:"auth"`
	// Dev keeps recent calls in memory, with their arguments and results, and shows them at /dev.
	// Address must be on loopback.
	Dev bool `yaml:"dev" usage:"show the last calls, with arguments and results, at /dev; always on in the demo"`
	// Pprof serves the Go runtime's profiles at /debug/pprof/.
	Pprof bool `yaml:"pprof" usage:"serve the Go runtime's profiles at /debug/pprof/"`
}

func defaultAdmin() Admin { return Admin{Address: "127.0.0.1:9090"} }

// validateAdmin checks the section without Auth, and its address against that of Listen.
func (c *Config) validateAdmin() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("admin."+format, args...)) }
	a := &c.Admin
	errs = append(errs, a.TLS.validate("admin.tls")...)
	if a.Auth != nil && a.Auth.ClientCert && a.TLS.ClientCA == "" {
		errs = append(errs, errors.New("admin.auth.client-cert: there is no admin.tls.client-ca, so no certificate of a client can be verified: name the file of its CAs there, or take client-cert out"))
	}
	loopback, err := isLoopback(a.Address)
	switch {
	case err != nil:
		wrong("address: %q %s", a.Address, notAddress(a.Address))
	case a.Dev && !loopback:
		wrong("dev: %q is reachable from other machines, and the page shows the arguments and results of calls: set admin.address to 127.0.0.1, or leave dev out", a.Address)
	case !loopback && !a.AllowRemote && a.Auth == nil:
		wrong("address: %q is reachable from other machines, which could call, end sessions and stop the edge without credentials: use 127.0.0.1, set admin.auth, or set admin.allow-remote", a.Address)
	}
	if _, port, _ := net.SplitHostPort(a.Address); c.Listen.Address == a.Address && port != "0" {
		wrong("address: %q is the address of listen, too: give it another port", a.Address)
	}
	return errs
}

// AdminScheme returns the scheme of Admin's URL: http or https.
func (c *Config) AdminScheme() string {
	if c.Admin.TLS.Enabled() {
		return "https"
	}
	return "http"
}
