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

// TLSFiles are the PEM files of a service's TLS. Cert is its certificate chain, Key the private
// key. With ClientCA, clients need a certificate of that CA, by which the service recognizes the
// edge. With empty Cert and Key the service speaks plaintext.
type TLSFiles struct{ Cert, Key, ClientCA string }

// Credentials returns gRPC server credentials for WithServerOptions(grpc.Creds(…)). They are nil if
// all files are empty. Each connection uses the current files, so that they can be replaced while
// the service runs. If they are unusable, new connections use the last usable version, and log gets
// the error; nil uses slog.Default().
func (f TLSFiles) Credentials(log *slog.Logger) (credentials.TransportCredentials, error) {
	switch {
	case f == TLSFiles{}:
		return nil, nil
	case f.Cert == "" || f.Key == "":
		return nil, errors.New("TLS needs a certificate and its key: set --tls-cert and --tls-key; --tls-client-ca requires both")
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
			log.Error("TLS files are unusable; new connections use the previous ones", "error", err)
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
		return nil, fmt.Errorf("client CA: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("client CA: %s has no PEM certificate", f.ClientCA)
	}
	return config, nil
}

// flags defines the flags of the command line.
func (f *TLSFiles) flags(set *flag.FlagSet) {
	set.StringVar(&f.Cert, "tls-cert", "", "certificate chain of the service, a PEM `file`; enables TLS together with --tls-key")
	set.StringVar(&f.Key, "tls-key", "", "key of --tls-cert, a PEM `file`")
	set.StringVar(&f.ClientCA, "tls-client-ca", "", "CA of client certificates, a PEM `file`; clients then need one")
}
