package certs

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// forge issues a certificate with any content. A nil signer makes it self-signed.
func forge(t *testing.T, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (cert *x509.Certificate, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer == nil {
		parent, signer = template, key
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// forClients is a template of a client's certificate with a subject.
func forClients(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{Subject: subject, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// forgeries are chains that no CA of clients has issued for a client, by what is wrong with them. good is a certificate that it has issued.
func forgeries(t *testing.T, clients *authority.CA, good tls.Certificate) map[string]tls.Certificate {
	t.Helper()
	all := map[string]tls.Certificate{}
	add := func(name string, key *ecdsa.PrivateKey, chain ...*x509.Certificate) {
		c := tls.Certificate{PrivateKey: key}
		for _, cert := range chain {
			c.Certificate = append(c.Certificate, cert.Raw)
		}
		all[name] = c
	}
	subject := good.Leaf.Subject
	cert, key := forge(t, forClients(subject), nil, nil)
	add("self-signed, with the subject of a client", key, cert)
	add("self-signed, with the true CA behind it", key, cert, clients.Cert)
	add("self-signed, with a client's certificate behind it", key, cert, good.Leaf)

	namesake := &x509.Certificate{Subject: clients.Cert.Subject, SubjectKeyId: clients.Cert.SubjectKeyId, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca, caKey := forge(t, namesake, nil, nil)
	cert, key = forge(t, forClients(subject), ca, caKey)
	add("of a CA with the same name and key identifier", key, cert, ca)
	add("of such a CA, with the true one behind it", key, cert, clients.Cert)

	cert, key = forge(t, forClients(pkix.Name{CommonName: "made by a client"}), good.Leaf, good.PrivateKey.(*ecdsa.PrivateKey))
	add("issued by a client's certificate", key, cert, good.Leaf)
	middle := &x509.Certificate{Subject: pkix.Name{CommonName: "middle"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca, caKey = forge(t, middle, good.Leaf, good.PrivateKey.(*ecdsa.PrivateKey))
	cert, key = forge(t, forClients(subject), ca, caKey)
	add("of a CA that a client's certificate has issued", key, cert, ca, good.Leaf)

	server := clients.Server(t).TLS(t)
	all["for servers"] = server
	early := clients.Client(t, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	}).TLS(t)
	all["not valid yet"] = early
	all["for other uses"] = clients.Client(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} }).TLS(t)
	_, stolen := forge(t, forClients(subject), nil, nil)
	all["a client's certificate without its key"] = tls.Certificate{Certificate: good.Certificate, PrivateKey: stolen}
	all["the CA's own certificate without its key"] = tls.Certificate{Certificate: [][]byte{clients.Cert.Raw}, PrivateKey: stolen}
	return all
}

// TestForgedClientCertificates attacks both listeners of an edge that demands client certificates, with the chains of forgeries, over both versions
// of TLS and both protocols.
func TestForgedClientCertificates(t *testing.T) {
	ca, clients := authority.New(t, "ca"), authority.New(t, "clients")
	_, mcp, _ := start(t, ca, nil, clients)
	admin, _ := certified(t, nil, ca, clients, nil)
	valid := clients.Client(t)
	good := valid.TLS(t)
	for name, forged := range forgeries(t, clients, good) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			for _, protocol := range protocols {
				t.Run(fmt.Sprintf("%s/%s/%s", name, tls.VersionName(version), protocol), func(t *testing.T) {
					c := newClientWith(t, protocol, &tls.Config{
						RootCAs: authority.Pool(ca), MinVersion: version, MaxVersion: version,
						GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &forged, nil },
					})
					if err := c.echo(mcp.URL, "x"); err == nil {
						t.Error("the MCP address serves it")
					}
					if got := c.ask(t, admin, "/v1/status", ""); got.status != 0 {
						t.Errorf("the admin address answers %d %s", got.status, got.body)
					}
				})
			}
		}
	}
	c := newClient(t, "HTTP/2.0", authority.Pool(ca), &valid)
	if err := c.echo(mcp.URL, "x"); err != nil {
		t.Errorf("a client with its certificate, after the attack: %v", err)
	}
	if got := c.ask(t, admin, "/v1/status", ""); got.status != http.StatusOK {
		t.Errorf("an operator with a certificate, after the attack: %d %s", got.status, got.body)
	}
}

// TestNothingReplacesAClientCertificate: without one, no path but those of probes is served, however it is spelled, and no header of a proxy is
// taken for one. A session of TLS that another listener began is none.
func TestNothingReplacesAClientCertificate(t *testing.T) {
	ca, clients := authority.New(t, "ca"), authority.New(t, "clients")
	_, mcp, _ := start(t, ca, nil, clients)
	admin, _ := certified(t, nil, ca, clients, nil)
	none := &tls.Config{RootCAs: authority.Pool(ca), ServerName: "localhost"}
	for _, target := range []string{
		"/metrics", "//metrics", "/./metrics", "/healthz/../metrics", "/healthz/%2e%2e/metrics", "/readyz/../v1/status", "/v1/status?x=/healthz", "/v1/status#/healthz",
		"/healthz//../v1/status", "/v1/status;/healthz", "/HEALTHZ/../v1/status", "http://localhost/v1/status", "https://localhost/healthz/../v1/status", "/debug/pprof/", "/v1/tools/echo:call", "*",
	} {
		for _, method := range []string{"GET", "POST", "HEAD", "OPTIONS", "DELETE"} {
			status := rawRequest(t, admin.Admin, none, method+" "+target+" HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Client-Cert: Subject=\"CN=of clients\"\r\n"+
				"X-SSL-Client-Verify: SUCCESS\r\nSsl-Client-Cert: x\r\nX-Client-Cert: x\r\nForwarded: for=127.0.0.1;proto=https\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			preflight := method == "OPTIONS" && (status == http.StatusNoContent || status == http.StatusOK) // It has no content.
			if !preflight && !slices.Contains([]int{0, 301, 307, 308, 400, 401, 403, 404, 405}, status) {
				t.Errorf("%s %s: %d without a certificate", method, target, status)
			}
		}
	}
	// A session of TLS that began without a certificate is resumed as one without.
	for range 3 {
		fresh := tls.NewLRUClientSessionCache(8)
		first := &tls.Config{RootCAs: authority.Pool(ca), ServerName: "localhost", ClientSessionCache: fresh}
		if status := rawRequest(t, admin.Admin, first, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); status != http.StatusOK {
			t.Fatalf("a probe gets %d", status)
		}
		if status := rawRequest(t, mcp.Host, first, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); status != 0 {
			t.Errorf("the MCP address resumes a session without a certificate: %d", status)
		}
		if status := rawRequest(t, admin.Admin, first, "GET /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); status != http.StatusUnauthorized && status != http.StatusForbidden {
			t.Errorf("a resumed session without a certificate gets %d", status)
		}
	}
}

// rawRequest sends the bytes of a request over TLS, and returns the status of the answer; 0: there was none.
func rawRequest(t *testing.T, addr string, conf *tls.Config, request string) int {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, conf)
	if err != nil {
		return 0
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte(request)); err != nil {
		return 0
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: strings.Fields(request)[0]})
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
