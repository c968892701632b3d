package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"
)

// Material is the parsed content of the files of one TLS endpoint. It is immutable.
type Material struct {
	// Certificate is the endpoint's certificate, with its intermediates and key. nil means none.
	Certificate *tls.Certificate
	// Chain is the certificate and its intermediates, in the order of the file.
	Chain []*x509.Certificate
	// CAs verify the peer. nil means that Files.CA is empty.
	CAs []*x509.Certificate

	roots *x509.CertPool // the pool of CAs; nil without CAs
}

// parse parses the content of an endpoint's files.
func (f Files) parse(c contents) (*Material, error) {
	if err := c.readable(f); err != nil {
		return nil, err
	}
	m := &Material{}
	var err error
	if f.Cert != "" {
		if m.Chain, err = f.certificates(certFile, c[certFile].data); err != nil {
			return nil, err
		}
		if err := f.encrypted(c[keyFile].data); err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(c[certFile].data, c[keyFile].data)
		if err != nil {
			return nil, f.mismatchError(err)
		}
		m.Certificate = &pair
	}
	if f.CA != "" {
		if m.CAs, err = f.certificates(caFile, c[caFile].data); err != nil {
			return nil, err
		}
		m.roots = x509.NewCertPool()
		for _, ca := range m.CAs {
			m.roots.AddCert(ca)
		}
	}
	return m, nil
}

const (
	typeCertificate = "CERTIFICATE"
	beginPEM        = "-----BEGIN "
)

// certificates returns all certificates of a file. An incompletely written file is an error.
func (f Files) certificates(file int, data []byte) (all []*x509.Certificate, err error) {
	rest := data
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != typeCertificate {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, f.fileError(file, "has a malformed certificate, number %d: %w: export it again as PEM", len(all)+1, err)
		}
		all = append(all, cert)
	}
	if bytes.Contains(rest, []byte(beginPEM)) {
		return nil, f.fileError(file, "is cut off or malformed after %d certificates: write it whole", len(all))
	}
	if len(all) == 0 {
		return nil, f.fileError(file, "holds no certificate: give one as PEM, which begins with %s%s-----", beginPEM, typeCertificate)
	}
	return all, nil
}

// encrypted returns an error if the key needs a passphrase.
func (f Files) encrypted(key []byte) error {
	for block, rest := pem.Decode(key); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return f.fileError(keyFile, "is encrypted, and the edge asks for no passphrase: decrypt it with openssl pkey -in %s", f.Key)
		}
	}
	return nil
}

// mismatchError returns the error for a certificate and a key that cannot be used together.
func (f Files) mismatchError(err error) error {
	switch what := err.Error(); {
	case strings.Contains(what, "does not match"):
		return f.fileError(keyFile, "does not belong to the first certificate in %s: give the key of this certificate, and put the intermediates after it", f.Cert)
	case strings.Contains(what, "PEM"):
		return f.fileError(keyFile, "holds no private key: give one as PEM, which begins with %sPRIVATE KEY-----", beginPEM)
	}
	return f.fileError(keyFile, "cannot be used: %w: give an RSA, ECDSA or Ed25519 key as PEM", err)
}

// Expiry is the time at which the content of a file expires.
type Expiry struct {
	// File is the setting of the file below that of the endpoint: "cert", "ca" or "client-ca".
	File string
	// At is the earliest expiry of a chain, and the latest expiry of CAs, since one valid CA
	// suffices.
	At time.Time
}

// chainEnds returns the earliest expiry of the chain, or the zero Time without a chain.
func (m *Material) chainEnds() (at time.Time) {
	for _, c := range m.Chain {
		if at.IsZero() || c.NotAfter.Before(at) {
			at = c.NotAfter
		}
	}
	return at
}

// casEnd returns the latest expiry of the CAs, or the zero Time without CAs.
func (m *Material) casEnd() (at time.Time) {
	for _, c := range m.CAs {
		if c.NotAfter.After(at) {
			at = c.NotAfter
		}
	}
	return at
}

// valid returns an error if peers reject the certificate at the time now, or if all CAs have
// expired.
func (m *Material) valid(f Files, now time.Time) error {
	const date = time.RFC3339
	for i, c := range m.Chain {
		switch {
		case now.After(c.NotAfter):
			return f.fileError(certFile, "has expired on %s (certificate number %d): renew it", c.NotAfter.UTC().Format(date), i+1)
		case now.Before(c.NotBefore):
			return f.fileError(certFile, "is only valid from %s on (certificate number %d): check the clock of this machine, or wait", c.NotBefore.UTC().Format(date), i+1)
		}
	}
	if end := m.casEnd(); !end.IsZero() && now.After(end) {
		return f.fileError(caFile, "has only expired CAs, the last since %s: give the CA that issues now", end.UTC().Format(date))
	}
	return nil
}
