package app

import (
	"cmp"
	"fmt"
	"io"

	"github.com/mcpedge/mcpedge/edge/certs"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/policy/external"
)

// externalOf returns the settings of the policy server, or nil if there is none.
func externalOf(cfg *config.Config) *config.External {
	if cfg.Policy == nil {
		return nil
	}
	return cfg.Policy.External
}

func externalFiles(e *config.External) certs.Files {
	return certs.Files{Name: "policy.external.tls", Cert: e.TLS.Cert, Key: e.TLS.Key, CA: e.TLS.CA}
}

// policyServer is a policy server in use. The zero value means none.
type policyServer struct {
	settings *config.External
	client   *external.Client
	files    *certs.Source // nil means plaintext
}

// newExternal makes the client of a policy server by its settings, which may be nil.
func (a *App) newExternal(e *config.External) (s policyServer, err error) {
	if e == nil {
		return s, nil
	}
	s.settings = e
	o := external.Options{Target: e.Target, Timeout: e.Timeout, Open: e.Allows(), MaxParams: int(e.MaxParams), AskOmitted: e.AsksOmitted(), Tracing: a.telemetry.Conn, Logger: a.log}
	if e.TLS != nil {
		if s.files, err = a.tls.Open(externalFiles(e), a.log); err != nil {
			return policyServer{}, err
		}
		o.Credentials = s.files.Client(e.TLS.ServerName)
	}
	if s.client, err = external.New(o); err != nil {
		a.closeExternal(s)
		return policyServer{}, fmt.Errorf("policy.external: %w", err)
	}
	return s, nil
}

// startExternal connects to the policy server, so that the first request need not wait for it.
func (a *App) startExternal(s policyServer) {
	if s.client != nil {
		s.client.Start()
	}
}

// closeExternal closes the connection to a policy server after it has answered its requests.
func (a *App) closeExternal(s policyServer) {
	if s.client != nil {
		s.client.Close()
	}
	if s.files != nil {
		a.tls.Remove(s.files)
	}
}

// ReportExternal writes to out the policy server that authorizes requests, and when it does.
// Without one in the settings it writes nothing.
func ReportExternal(cfg config.Config, out io.Writer) {
	e := externalOf(&cfg)
	if e == nil {
		return
	}
	follows := "denied"
	if e.Allows() {
		follows = "allowed"
	}
	_, _ = fmt.Fprintf(out, "info    policy.external: the policy server %s authorizes what rules and scopes allow; a request without its answer within %s is %s\n",
		e.Target, cmp.Or(e.Timeout, external.DefaultTimeout), follows)
}
