package certs

import (
	"crypto/x509"
	"errors"
	"time"
)

// AcceptsClient returns why a handshake that begins now would reject a client with these
// certificates, its own followed by its intermediates, or nil.
func (s *Source) AcceptsClient(chain []*x509.Certificate) error {
	m := s.Material()
	if m.roots == nil || len(chain) == 0 {
		return errors.New("there is no certificate, or no CA that could have issued it")
	}
	o := x509.VerifyOptions{
		Roots: m.roots, Intermediates: x509.NewCertPool(), CurrentTime: time.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(o)
	return err
}
