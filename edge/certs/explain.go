package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
)

// refusals are the alerts by which a server rejects a client's certificate (RFC 8446, section 6.2).
var refusals = []tls.AlertError{
	40,  // handshake_failure: in TLS 1.2, a missing certificate
	42,  // bad_certificate
	43,  // unsupported_certificate
	44,  // certificate_revoked
	45,  // certificate_expired
	46,  // certificate_unknown
	48,  // unknown_ca
	116, // certificate_required
}

// refused reports whether an error means that the peer has rejected this endpoint's certificate.
func refused(err error) bool {
	var remote *net.OpError
	return errors.As(err, &remote) && remote.Op == "remote error" &&
		slices.ContainsFunc(refusals, func(a tls.AlertError) bool { return a.Error() == remote.Err.Error() })
}

// explain adds advice to the error of a handshake with a backend.
func (f Files) explain(err error) error {
	if advice := f.advice(err); advice != "" {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

func (f Files) advice(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown):
		if f.CA == "" {
			return "no CA of this system issued the backend's certificate: give the one that did in " + f.setting(caFile)
		}
		return fmt.Sprintf("no CA in %s issued the backend's certificate: add the one that did to %s", f.CA, f.setting(caFile))
	case errors.As(err, &name):
		return fmt.Sprintf("the backend's certificate is for another name: have it issued for this one, or give one of its names in %s.server-name", f.Name)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew the backend's certificate, or check the clocks of the two machines"
	case errors.As(err, &record):
		return fmt.Sprintf("the server does not speak TLS: give the port that does, or remove %s", f.Name)
	case refused(err) && f.Cert == "":
		return fmt.Sprintf("the backend asks for a certificate of the edge: give one that it accepts in %s and %s", f.setting(certFile), f.setting(keyFile))
	case refused(err):
		return fmt.Sprintf("the backend does not accept the edge's certificate %s: have it issued by a CA that the backend knows, for clients (extended key usage)", f.Cert)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Sprintf("the connection ended in the handshake: give the port that speaks TLS, or remove %s", f.Name)
	}
	return ""
}
