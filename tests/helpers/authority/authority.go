// Package authority issues certificates for tests, and replaces files as certificate managers do.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// CA issues certificates. It is safe for concurrent use.
type CA struct {
	Cert *x509.Certificate
	// PEM is Cert in PEM.
	PEM []byte
	key *ecdsa.PrivateKey
}

// Pair is a certificate and its key in PEM.
type Pair struct{ Cert, Key []byte }

// New returns a new CA.
func New(t testing.TB, name string) *CA {
	t.Helper()
	key := newKey(t)
	cert := sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, key, key)
	return &CA{Cert: cert, PEM: block("CERTIFICATE", cert.Raw), key: key}
}

// NewCAs returns n new CAs.
func NewCAs(t testing.TB, name string, n int) (all []*CA) {
	t.Helper()
	for i := range n {
		all = append(all, New(t, name+strconv.Itoa(i)))
	}
	return all
}

// Pool returns a pool of the CAs for verification.
func Pool(all ...*CA) *x509.CertPool {
	p := x509.NewCertPool()
	for _, ca := range all {
		p.AddCert(ca.Cert)
	}
	return p
}

// Bundle returns the CAs in PEM.
func Bundle(all ...*CA) (out []byte) {
	for _, ca := range all {
		out = append(out, ca.PEM...)
	}
	return out
}

// Option modifies a certificate before it is issued.
type Option func(*x509.Certificate)

// Expired sets the expiry to an hour ago.
func Expired(c *x509.Certificate) {
	c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
}

// For sets the DNS names and addresses.
func For(names ...string) Option {
	return func(c *x509.Certificate) {
		c.DNSNames, c.IPAddresses = nil, nil
		for _, name := range names {
			if ip := net.ParseIP(name); ip != nil {
				c.IPAddresses = append(c.IPAddresses, ip)
				continue
			}
			c.DNSNames = append(c.DNSNames, name)
		}
	}
}

// Server issues a certificate for servers on loopback, valid for a day.
func (ca *CA) Server(t testing.TB, options ...Option) Pair {
	t.Helper()
	return ca.issue(t, x509.ExtKeyUsageServerAuth, append([]Option{For("localhost", "127.0.0.1", "::1")}, options...))
}

// Client issues a certificate for clients, valid for a day.
func (ca *CA) Client(t testing.TB, options ...Option) Pair {
	t.Helper()
	return ca.issue(t, x509.ExtKeyUsageClientAuth, options)
}

func (ca *CA) issue(t testing.TB, usage x509.ExtKeyUsage, options []Option) Pair {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "of " + ca.Cert.Subject.CommonName}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	for _, o := range options {
		o(template)
	}
	cert := sign(t, template, ca.Cert, key, ca.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{block("CERTIFICATE", cert.Raw), block("PRIVATE KEY", der)}
}

// TLS returns the pair for crypto/tls.
func (p Pair) TLS(t testing.TB) tls.Certificate {
	t.Helper()
	c, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Serial returns the serial number of the certificate.
func (p Pair) Serial(t testing.TB) string {
	t.Helper()
	return p.TLS(t).Leaf.SerialNumber.String()
}

// Fingerprint returns the SHA-256 of the certificate, in hexadecimal.
func (p Pair) Fingerprint(t testing.TB) string {
	t.Helper()
	sum := sha256.Sum256(p.TLS(t).Leaf.Raw)
	return hex.EncodeToString(sum[:])
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign creates a certificate from a template. Without a parent it is self-signed.
func sign(t testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = serial
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	}
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Mount is a directory whose files are replaced atomically, as Kubernetes does for a mounted
// secret: each file is a symbolic link into the directory ..data, which is itself a link that is
// replaced.
type Mount struct {
	dir   string
	count int
}

// NewMount creates a directory with files. Write replaces them.
func NewMount(t testing.TB, files map[string][]byte) *Mount {
	t.Helper()
	m := &Mount{dir: t.TempDir()}
	m.Write(t, files)
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), m.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// Path returns the path of a file, which does not change.
func (m *Mount) Path(name string) string { return filepath.Join(m.dir, name) }

// Write replaces all files.
func (m *Mount) Write(t testing.TB, files map[string][]byte) {
	t.Helper()
	m.count++
	version := "..version" + strconv.Itoa(m.count)
	if err := os.Mkdir(m.Path(version), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		File(t, filepath.Join(m.Path(version), name), data)
	}
	if err := os.Symlink(version, m.Path("..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(m.Path("..data_tmp"), m.Path("..data")); err != nil {
		t.Fatal(err)
	}
	if m.count > 1 {
		if err := os.RemoveAll(m.Path("..version" + strconv.Itoa(m.count-1))); err != nil {
			t.Fatal(err)
		}
	}
}

// File writes a file and returns its path.
func File(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
