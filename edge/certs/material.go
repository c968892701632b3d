package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"
)

// Material is what the files of one end of TLS held. Immutable.
type Material struct {
	// Certificate is this end's own, with its intermediates and key; nil: it has none.
	Certificate *tls.Certificate
	// Chain is the certificate and its intermediates, as the file has them.
	Chain []*x509.Certificate
	// CAs verify the peer; nil: the end has no file of them.
	CAs []*x509.Certificate

	roots *x509.CertPool // of CAs; nil: none
}

// parse makes the material of an end of what its files held.
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
			return nil, f.unfit(err)
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

// certificates are all that a file holds. A file that was not written to its end is an error.
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
			return nil, f.wrong(file, "has a malformed certificate, number %d: %w: export it again as PEM", len(all)+1, err)
		}
		all = append(all, cert)
	}
	if bytes.Contains(rest, []byte(beginPEM)) {
		return nil, f.wrong(file, "is cut off or malformed after %d certificates: write it whole", len(all))
	}
	if len(all) == 0 {
		return nil, f.wrong(file, "holds no certificate: give one as PEM, which begins with %s%s-----", beginPEM, typeCertificate)
	}
	return all, nil
}

// encrypted says so of a key that only a passphrase opens.
func (f Files) encrypted(key []byte) error {
	for block, rest := pem.Decode(key); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return f.wrong(keyFile, "is encrypted, and the edge asks for no passphrase: decrypt it with openssl pkey -in %s", f.Key)
		}
	}
	return nil
}

// unfit says what is wrong with a pair whose certificate is sound.
func (f Files) unfit(err error) error {
	switch what := err.Error(); {
	case strings.Contains(what, "does not match"):
		return f.wrong(keyFile, "does not belong to the first certificate in %s: give the key that this one was issued for, and have the intermediates after it", f.Cert)
	case strings.Contains(what, "PEM"):
		return f.wrong(keyFile, "holds no private key: give one as PEM, which begins with %sPRIVATE KEY-----", beginPEM)
	}
	return f.wrong(keyFile, "cannot be used: %w: give an RSA, ECDSA or Ed25519 key as PEM", err)
}

// Expiry is when what a file holds expires.
type Expiry struct {
	// File is the key of the file's setting below that of the end: "cert", "ca" or "client-ca".
	File string
	// At is the first of a chain, and the last of several CAs, of which one is enough.
	At time.Time
}

// chainEnds is when the first certificate of the chain expires; the zero Time without one.
func (m *Material) chainEnds() (at time.Time) {
	for _, c := range m.Chain {
		if at.IsZero() || c.NotAfter.Before(at) {
			at = c.NotAfter
		}
	}
	return at
}

// casEnd is when the last of the CAs expires; the zero Time without any.
func (m *Material) casEnd() (at time.Time) {
	for _, c := range m.CAs {
		if c.NotAfter.After(at) {
			at = c.NotAfter
		}
	}
	return at
}

// valid returns why nobody would accept the certificate at a time, or why no CA could be.
func (m *Material) valid(f Files, now time.Time) error {
	const date = time.RFC3339
	for i, c := range m.Chain {
		switch {
		case now.After(c.NotAfter):
			return f.wrong(certFile, "has expired on %s, certificate number %d: renew it", c.NotAfter.UTC().Format(date), i+1)
		case now.Before(c.NotBefore):
			return f.wrong(certFile, "is valid from %s on only, certificate number %d: look at the clock of this machine, or wait", c.NotBefore.UTC().Format(date), i+1)
		}
	}
	if end := m.casEnd(); !end.IsZero() && now.After(end) {
		return f.wrong(caFile, "has no CA that has not expired, the last did on %s: give the CA that issues now", end.UTC().Format(date))
	}
	return nil
}
