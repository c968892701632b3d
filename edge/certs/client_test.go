package certs

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// serveGRPC serves health until the test ends, over TLS unless conf is nil.
func serveGRPC(t *testing.T, conf *tls.Config) string {
	t.Helper()
	var options []grpc.ServerOption
	if conf != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(conf)))
	}
	s := grpc.NewServer(options...)
	healthv1.RegisterHealthServer(s, health.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// ask calls health over a new connection.
func ask(t *testing.T, target string, creds credentials.TransportCredentials) error {
	t.Helper()
	c, err := grpc.NewClient(target, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	_, err = healthv1.NewHealthClient(c).Check(ctx, &healthv1.HealthCheckRequest{})
	return err
}

// Each handshake uses the current certificate and the current CAs.
func TestClientExchange(t *testing.T) {
	dir := t.TempDir()
	var s *Source
	for i, gen := range []struct{ servers, clients *authority.CA }{
		{authority.New(t, "s0"), authority.New(t, "c0")}, {authority.New(t, "s1"), authority.New(t, "c1")},
	} {
		p := gen.clients.Client(t)
		f := Files{
			Name: "backends.b.tls", CA: authority.File(t, filepath.Join(dir, "ca"), gen.servers.PEM),
			Cert: authority.File(t, filepath.Join(dir, "cert"), p.Cert), Key: authority.File(t, filepath.Join(dir, "key"), p.Key),
		}
		if s == nil {
			var err error
			if s, err = Open(f, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
		}
		s.refresh()
		target := serveGRPC(t, &tls.Config{
			Certificates: []tls.Certificate{gen.servers.Server(t).TLS(t)},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool(gen.clients),
		})
		if err := ask(t, target, s.Client("")); err != nil {
			t.Errorf("generation %d: %v", i, err)
		}
	}
}

// The error of a handshake has advice, at whatever point the peer reports it.
func TestHandshakesSayWhatFailed(t *testing.T) {
	ca, other := authority.New(t, "ca"), authority.New(t, "other")
	file := func(name string, data []byte) string {
		return authority.File(t, filepath.Join(t.TempDir(), name), data)
	}
	server := func(options ...authority.Option) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{ca.Server(t, options...).TLS(t)}}
	}
	asking := server()
	asking.ClientAuth, asking.ClientCAs = tls.RequireAndVerifyClientCert, authority.Pool(ca)
	asking12 := asking.Clone()
	asking12.MaxVersion = tls.VersionTLS12
	trusting := Files{Name: "backends.b.tls", CA: file("ca", ca.PEM)}
	stranger := other.Client(t)
	withStranger := trusting
	withStranger.Cert, withStranger.Key = file("cert", stranger.Cert), file("key", stranger.Key)
	late := ca.Client(t, authority.Expired)
	withLate := trusting
	withLate.Cert, withLate.Key = file("cert", late.Cert), file("key", late.Key)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadAtLeast(c, make([]byte, 1), 1)
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_ = c.Close()
		}
	}()

	for name, c := range map[string]struct {
		files  Files
		name   string
		target string
		want   []string
	}{
		"another CA":          {Files{Name: "backends.b.tls", CA: file("other", other.PEM)}, "", serveGRPC(t, server()), []string{"unknown authority", "other issued the backend's certificate: add the one that did to backends.b.tls.ca"}},
		"no CA":               {Files{Name: "backends.b.tls"}, "", serveGRPC(t, server()), []string{"unknown authority", "no CA of this system issued the backend's certificate: give the one that did in backends.b.tls.ca"}},
		"another name":        {trusting, "", strings.Replace(serveGRPC(t, server(authority.For("crm.internal"))), "127.0.0.1", "localhost", 1), []string{"crm.internal", "give one of its names in backends.b.tls.server-name"}},
		"expired":             {trusting, "", serveGRPC(t, server(authority.Expired)), []string{"renew the backend's certificate"}},
		"no certificate":      {trusting, "", serveGRPC(t, asking), []string{"certificate required", "give one that it accepts in backends.b.tls.cert and backends.b.tls.key"}},
		"no certificate, 1.2": {trusting, "", serveGRPC(t, asking12), []string{"the backend asks for a certificate of the edge"}},
		"a stranger's":        {withStranger, "", serveGRPC(t, asking), []string{"the backend does not accept the edge's certificate"}},
		"an expired one":      {withLate, "", serveGRPC(t, asking), []string{"the backend does not accept the edge's certificate"}},
		"no TLS":              {trusting, "", serveGRPC(t, nil), []string{"give the port that"}},
		"HTTP":                {trusting, "", l.Addr().String(), []string{"the server does not speak TLS: give the port that does, or remove backends.b.tls"}},
		"its name given":      {trusting, "crm.internal", serveGRPC(t, server(authority.For("crm.internal"))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(c.files, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			err = ask(t, c.target, s.Client(c.name))
			if c.want == nil && err != nil || c.want != nil && err == nil {
				t.Fatalf("%v, want %q", err, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %q", err, want)
				}
			}
		})
	}
}
