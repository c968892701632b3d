package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/mcpedge/mcpedge/edge/certs"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// ends are the TLS endpoints of an edge: its listeners and its clients.
type ends struct {
	certs.Set
	// mcp and admin are the sources of the listeners' certificates. nil means plain HTTP.
	mcp, admin *certs.Source
}

// listeners reads the files of the listeners.
func (e *ends) listeners(cfg config.Config, log *slog.Logger) (err error) {
	if cfg.Listen.TLS.Enabled() {
		if e.mcp, err = e.Open(listenerFiles("listen.tls", cfg.Listen.TLS), log); err != nil {
			return err
		}
	}
	if cfg.Admin.TLS.Enabled() {
		e.admin, err = e.Open(listenerFiles("admin.tls", cfg.Admin.TLS), log)
	}
	return err
}

func listenerFiles(setting string, t config.ListenerTLS) certs.Files {
	return certs.Files{Name: setting, Cert: t.Cert, Key: t.Key, CA: t.ClientCA, CAKey: "client-ca"}
}

func backendFiles(b *config.Backend) certs.Files {
	return certs.Files{Name: "backends." + b.Name + ".tls", Cert: b.TLS.Cert, Key: b.TLS.Key, CA: b.TLS.CA}
}

// serviceFiles are the files of an entry of kubernetes.backends.
func serviceFiles(i int, b *config.Backend) certs.Files {
	return certs.Files{Name: fmt.Sprintf("kubernetes.backends[%d].tls", i), Cert: b.TLS.Cert, Key: b.TLS.Key, CA: b.TLS.CA}
}

func kubernetesFiles(k *config.Kubernetes) certs.Files {
	files := certs.Files{Name: "kubernetes.tls"}
	if t := k.TLS; t != nil {
		files.Cert, files.Key, files.CA = t.Cert, t.Key, t.CA
	}
	return files
}

// mcpServer returns the configuration of the MCP listener, which requires a client certificate if
// it has CAs for them; nil means plain HTTP.
func (e *ends) mcpServer() *tls.Config {
	if e.mcp == nil {
		return nil
	}
	return e.mcp.Server(tls.RequireAndVerifyClientCert, certs.HTTP2, certs.HTTP1)
}

// adminServer returns the configuration of the admin listener; nil means plain HTTP. Its handler,
// not the handshake, requires a client certificate, because probes have none.
func (e *ends) adminServer() *tls.Config {
	if e.admin == nil {
		return nil
	}
	return e.admin.Server(tls.VerifyClientCertIfGiven, certs.HTTP2, certs.HTTP1)
}

// tlsRefusals makes refusals at a listener be sent over TLS, in HTTP/1.1; nil means plain HTTP.
func tlsRefusals(s *certs.Source) func(net.Conn) net.Conn {
	if s == nil {
		return nil
	}
	conf := s.Server(tls.NoClientCert, certs.HTTP1)
	return func(c net.Conn) net.Conn { return tls.Server(c, conf) }
}

// scheme returns the beginning of the endpoint's URLs.
func (e *ends) scheme() string {
	if e.mcp != nil {
		return "https://"
	}
	return "http://"
}

// observeTLS registers the certificates in use with telemetry.
func (a *App) observeTLS() []error {
	each := func(fn func(*certs.Source, telemetry.Emit)) func(telemetry.Emit) {
		return func(emit telemetry.Emit) {
			for _, s := range a.tls.Sources() {
				fn(s, emit)
			}
		}
	}
	return []error{
		a.telemetry.Observe(telemetry.TLSExpiry, each(func(s *certs.Source, emit telemetry.Emit) {
			for _, e := range s.Expiries() {
				emit(time.Until(e.At).Seconds(), telemetry.AttrTLS.String(s.Name()), telemetry.AttrTLSFile.String(e.File))
			}
		})),
		a.telemetry.Observe(telemetry.TLSStale, each(func(s *certs.Source, emit telemetry.Emit) {
			emit(one(s.Failure() != ""), telemetry.AttrTLS.String(s.Name()))
		})),
		a.telemetry.Observe(telemetry.TLSExchanges, each(func(s *certs.Source, emit telemetry.Emit) {
			emit(float64(s.Exchanges()), telemetry.AttrTLS.String(s.Name()))
		})),
	}
}

// CheckTLS writes the contents of the TLS files of listeners and backends to out, with their
// faults. It also returns the faults as the error.
func CheckTLS(cfg config.Config, out io.Writer) error {
	var errs []error
	end := func(f certs.Files, server bool) {
		lines, problems := certs.Describe(f, server)
		_, _ = fmt.Fprintln(out, f.Name)
		for _, line := range lines {
			_, _ = fmt.Fprintln(out, "  ok      "+line)
		}
		for _, problem := range problems {
			_, _ = fmt.Fprintln(out, "  wrong   "+problem.Error())
		}
		errs = append(errs, problems...)
	}
	if cfg.Listen.TLS.Enabled() {
		end(listenerFiles("listen.tls", cfg.Listen.TLS), true)
	}
	if cfg.Admin.TLS.Enabled() {
		end(listenerFiles("admin.tls", cfg.Admin.TLS), true)
	}
	for i := range cfg.Backends {
		if b := &cfg.Backends[i]; b.TLS != nil && (b.TLS.Cert != "" || b.TLS.CA != "") {
			end(backendFiles(b), false)
		}
	}
	if k := cfg.Kubernetes; k != nil && k.TLS != nil && (k.TLS.Cert != "" || k.TLS.CA != "") {
		end(kubernetesFiles(k), false)
	}
	if k := cfg.Kubernetes; k != nil {
		for i := range k.Backends {
			if b := &k.Backends[i]; b.TLS != nil && (b.TLS.Cert != "" || b.TLS.CA != "") {
				end(serviceFiles(i, b), false)
			}
		}
	}
	for i := range cfg.Hooks {
		if h := &cfg.Hooks[i]; h.TLS != nil && (h.TLS.Cert != "" || h.TLS.CA != "") {
			end(hookFiles(h), false)
		}
	}
	if e := externalOf(&cfg); e != nil && e.TLS != nil && (e.TLS.Cert != "" || e.TLS.CA != "") {
		end(externalFiles(e), false)
	}
	return errors.Join(errs...)
}
