package capability_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/capability"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// write writes a file into a directory and returns its path.
func write(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A service with TLSFiles authenticates clients by their certificates, uses replaced files for new
// connections, and keeps the previous ones while a file is invalid.
func TestTLSFiles(t *testing.T) {
	first, second, strangers := authority.New(t, "first"), authority.New(t, "second"), authority.New(t, "strangers")
	clients, dir := authority.New(t, "clients"), t.TempDir()
	present := func(ca *authority.CA) {
		pair := ca.Server(t)
		write(t, dir, "tls.crt", pair.Cert)
		write(t, dir, "tls.key", pair.Key)
	}
	present(first)
	files := capability.TLSFiles{
		Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"),
		ClientCA: write(t, dir, "clients.crt", authority.Bundle(clients)),
	}
	creds, err := files.Credentials(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := capability.New("secured", "1", capability.WithServerOptions(grpc.Creds(creds)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	// describe uses a new connection.
	describe := func(server *authority.CA, shown ...tls.Certificate) error {
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			RootCAs: authority.Pool(server), Certificates: shown,
		})))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = mcpedgev1.NewBackendServiceClient(conn).Describe(t.Context(), &mcpedgev1.DescribeRequest{})
		return err
	}
	known := clients.Client(t).TLS(t)
	if err := describe(first, known); err != nil {
		t.Errorf("a client of the CA was refused: %v", err)
	}
	if describe(first) == nil || describe(first, strangers.Client(t).TLS(t)) == nil {
		t.Error("a client without a certificate of the CA was served")
	}
	present(second)
	if err := describe(second, known); err != nil {
		t.Errorf("after the exchange: %v", err)
	}
	write(t, dir, "tls.crt", []byte("broken"))
	if err := describe(second, known); err != nil {
		t.Errorf("with a broken file: %v", err)
	}
}

// Unusable files are an error that names them.
func TestTLSFilesThatAreWrong(t *testing.T) {
	dir := t.TempDir()
	pair := authority.New(t, "ca").Server(t)
	cert, key := write(t, dir, "tls.crt", pair.Cert), write(t, dir, "tls.key", pair.Key)
	empty := write(t, dir, "empty.crt", nil)
	for want, files := range map[string]capability.TLSFiles{
		"set --tls-cert and --tls-key":     {Cert: cert},
		"--tls-client-ca requires both":    {ClientCA: cert},
		"missing.key":                      {Cert: cert, Key: filepath.Join(dir, "missing.key")},
		"empty.crt has no PEM certificate": {Cert: cert, Key: key, ClientCA: empty},
	} {
		if _, err := files.Credentials(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", files, err, want)
		}
	}
	if creds, err := (capability.TLSFiles{}).Credentials(nil); creds != nil || err != nil {
		t.Errorf("no files: %v, %v; want neither", creds, err)
	}
}
