package certs

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"
)

// expiryWarning is the remaining validity below which Describe shows it.
const expiryWarning = 7 * 24 * time.Hour

// Describe describes the content of the files of an endpoint, one line each: the names of the
// certificate, its issuer and expiry, and the CAs that verify the peer. server is true for a
// listener. problems are the faults, each with what to do; the edge can start with some of them.
func Describe(f Files, server bool) (lines []string, problems []error) {
	m, err := f.parse(f.read())
	if err != nil {
		return nil, []error{err}
	}
	now := time.Now()
	if err := m.valid(f, now); err != nil {
		problems = append(problems, err)
	}
	if len(m.Chain) > 0 {
		leaf := m.Chain[0]
		lines = append(lines, fmt.Sprintf("%s %s is for %s, issued by %s, valid until %s", f.setting(certFile), f.Cert, names(leaf), issuer(leaf), until(m.chainEnds(), now)))
		problems = append(problems, f.missingUses(leaf, server)...)
	}
	if len(m.CAs) > 0 {
		subjects := make([]string, 0, shownCAs)
		for _, ca := range m.CAs[:min(len(m.CAs), shownCAs)] {
			subjects = append(subjects, ca.Subject.String())
		}
		if more := len(m.CAs) - shownCAs; more > 0 {
			subjects = append(subjects, fmt.Sprintf("and %d more", more))
		}
		lines = append(lines, fmt.Sprintf("%s %s has %s, valid until %s", f.setting(caFile), f.CA, strings.Join(subjects, "; "), until(m.casEnd(), now)))
	}
	return lines, problems
}

// shownCAs is the number of CAs that Describe names.
const shownCAs = 3

// missingUses returns an error for each required use that a valid certificate does not permit.
func (f Files) missingUses(leaf *x509.Certificate, server bool) (problems []error) {
	usage, what := x509.ExtKeyUsageClientAuth, "clients"
	if server {
		usage, what = x509.ExtKeyUsageServerAuth, "servers"
		if len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 {
			problems = append(problems, f.fileError(certFile, "has no name that clients look at: have it issued with subject alternative names"))
		}
	}
	if len(leaf.ExtKeyUsage) > 0 && !slices.Contains(leaf.ExtKeyUsage, usage) && !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageAny) {
		problems = append(problems, f.fileError(certFile, "is not for %s: have it issued with that extended key usage", what))
	}
	return problems
}

// names returns the names for which a certificate is valid.
func names(c *x509.Certificate) string {
	all := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	for _, uri := range c.URIs {
		all = append(all, uri.String())
	}
	if len(all) == 0 {
		return "no name but its subject " + c.Subject.String()
	}
	return strings.Join(all, ", ")
}

func issuer(c *x509.Certificate) string {
	if c.Issuer.String() == c.Subject.String() {
		return "itself"
	}
	return c.Issuer.String()
}

// until formats the time at. It adds the remaining time if that is less than expiryWarning.
func until(at, now time.Time) string {
	text := at.UTC().Format(time.RFC3339)
	if left := at.Sub(now); left > 0 && left < expiryWarning {
		text += fmt.Sprintf(" (in %s)", left.Round(time.Minute))
	}
	return text
}
