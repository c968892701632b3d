package capability

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"google.golang.org/grpc/credentials"
)

// TLSFiles are PEM files that a service speaks TLS with. Cert and Key are the service's own, its chain and its key; with
// ClientCA it wants certificates of its clients that this CA has issued, which is how it knows the edge. Without Cert
// and Key it speaks plaintext.
type TLSFiles struct{ Cert, Key, ClientCA string }

// Credentials are those of a gRPC server, for WithServerOptions(grpc.Creds(…)); nil with no files. The files are read
// again for each connection, so that they can be exchanged while it serves: while they cannot be used, new
// connections get what was read last, and log says why; nil: slog.Default().
func (f TLSFiles) Credentials(log *slog.Logger) (credentials.TransportCredentials, error) {
	switch {
	case f == TLSFiles{}:
		return nil, nil
	case f.Cert == "" || f.Key == "":
		return nil, errors.New("TLS takes a certificate and its key: give --tls-cert and --tls-key, and --tls-client-ca only with them")
	}
	first, err := f.load()
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	var mu sync.Mutex
	last := first
	config := first.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		if now, err := f.load(); err != nil {
			log.Error("files for TLS cannot be used; new connections get what was read last", "error", err)
		} else {
			last = now
		}
		return last, nil
	}
	return credentials.NewTLS(config), nil
}

// load reads the files.
func (f TLSFiles) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	if f.ClientCA == "" {
		return config, nil
	}
	raw, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("CA of clients: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("CA of clients: %s has no certificate in PEM", f.ClientCA)
	}
	return config, nil
}

// flags are the command line's.
func (f *TLSFiles) flags(set *flag.FlagSet) {
	set.StringVar(&f.Cert, "tls-cert", "", "certificate chain of the service, a PEM `file`; with --tls-key it speaks TLS")
	set.StringVar(&f.Key, "tls-key", "", "key of --tls-cert, a PEM `file`")
	set.StringVar(&f.ClientCA, "tls-client-ca", "", "CA that clients need a certificate of, a PEM `file`")
}
