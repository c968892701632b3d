package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logs collects log lines.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// lines returns the number of lines that contain a text.
func (l *logs) lines(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// end is an end of TLS in a test, with its files.
type end struct {
	*Source
	dir string
	log *logs
}

func (e *end) path(name string) string { return filepath.Join(e.dir, name) }

func (e *end) write(t *testing.T, p authority.Pair) {
	t.Helper()
	authority.File(t, e.path("cert"), p.Cert)
	authority.File(t, e.path("key"), p.Key)
}

// open opens the end of a listener. cas may be nil.
func open(t *testing.T, p authority.Pair, cas []byte) *end {
	t.Helper()
	e := &end{dir: t.TempDir(), log: &logs{}}
	e.write(t, p)
	f := Files{Name: "tls", Cert: e.path("cert"), Key: e.path("key"), CAKey: "client-ca"}
	if cas != nil {
		f.CA = authority.File(t, e.path("cas"), cas)
	}
	var err error
	if e.Source, err = Open(f, slog.New(slog.NewTextHandler(e.log, nil))); err != nil {
		t.Fatal(err)
	}
	return e
}

// shake makes a handshake of a client with a server, and returns the client's state.
func shake(t *testing.T, server, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer c.Close()
		s := tls.Server(c, server)
		if err = s.Handshake(); err == nil {
			_, err = s.Write([]byte{1}) // makes the client receive session tickets
		}
		served <- err
	}()
	conf := client.Clone()
	conf.ServerName = "localhost"
	c, err := tls.Dial("tcp", l.Addr().String(), conf)
	if err != nil {
		<-served
		return tls.ConnectionState{}, err
	}
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	if e := <-served; err == nil {
		err = e
	}
	return c.ConnectionState(), err
}

// serial returns the serial of the certificate in a handshake with the end.
func (e *end) serial(t *testing.T, ca *authority.CA) string {
	t.Helper()
	state, err := shake(t, e.Server(tls.RequireAndVerifyClientCert, HTTP2, HTTP1), &tls.Config{RootCAs: authority.Pool(ca), NextProtos: []string{HTTP1, HTTP2}})
	if err != nil {
		t.Fatal(err)
	}
	if state.NegotiatedProtocol != HTTP2 {
		t.Errorf("%q was chosen", state.NegotiatedProtocol)
	}
	return state.PeerCertificates[0].SerialNumber.String()
}

// An error about a file has its setting, its path and advice.
func TestOpenSaysWhatIsWrong(t *testing.T) {
	ca := authority.New(t, "ca")
	p, other := ca.Server(t), ca.Server(t)
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	for name, c := range map[string]struct {
		cert, key, ca []byte
		want          string
	}{
		"another key":      {p.Cert, other.Key, nil, "tls.key: DIR/key does not belong to the first certificate in DIR/cert: give the key"},
		"no PEM":           {[]byte("x"), p.Key, nil, "tls.cert: DIR/cert holds no certificate: give one as PEM"},
		"no key":           {p.Cert, p.Cert, nil, "tls.key: DIR/key holds no private key"},
		"a locked key":     {p.Cert, encrypted, nil, "tls.key: DIR/key is encrypted, and the edge asks for no passphrase: decrypt it with openssl pkey -in DIR/key"},
		"half a chain":     {append(slices.Clone(p.Cert), ca.PEM[:len(ca.PEM)/2]...), p.Key, nil, "tls.cert: DIR/cert is cut off or malformed after 1 certificates"},
		"half a CA":        {p.Cert, p.Key, ca.PEM[:len(ca.PEM)/2], "tls.client-ca: DIR/cas is cut off or malformed after 0 certificates"},
		"CA: no PEM":       {p.Cert, p.Key, []byte("x"), "tls.client-ca: DIR/cas holds no certificate"},
		"CA: a key":        {p.Cert, p.Key, p.Key, "tls.client-ca: DIR/cas holds no certificate"},
		"a malformed cert": {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), p.Key, nil, "tls.cert: DIR/cert has a malformed certificate, number 1"},
	} {
		dir := t.TempDir()
		f := Files{Name: "tls", Cert: authority.File(t, filepath.Join(dir, "cert"), c.cert), Key: authority.File(t, filepath.Join(dir, "key"), c.key), CAKey: "client-ca"}
		if c.ca != nil {
			f.CA = authority.File(t, filepath.Join(dir, "cas"), c.ca)
		}
		if _, err := f.parse(f.read()); err == nil || !strings.HasPrefix(strings.ReplaceAll(err.Error(), dir, "DIR"), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "missing"): "cannot be read: no such file or directory: give the path of a PEM file that the edge may read",
		dir:                           "cannot be read: it is not a regular file",
	} {
		if _, err := Open(Files{Name: "backends.crm.tls", CA: path}, nil); err == nil || !strings.Contains(err.Error(), "backends.crm.tls.ca: "+path+" "+want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An edge that starts after a certificate was written, and before its key is, waits for the key.
func TestOpenAwaitsTheKey(t *testing.T) {
	ca := authority.New(t, "ca")
	p, old := ca.Server(t), ca.Server(t)
	dir := t.TempDir()
	f := Files{Name: "tls", Cert: authority.File(t, filepath.Join(dir, "cert"), p.Cert), Key: authority.File(t, filepath.Join(dir, "key"), old.Key)}
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(openPause, func() { authority.File(t, f.Key, p.Key) })
		if _, err := Open(f, slog.New(slog.DiscardHandler)); err != nil {
			t.Error(err)
		}
	})
}

// New handshakes use changed files.
func TestExchange(t *testing.T) {
	ca := authority.New(t, "ca")
	first, second := ca.Server(t), ca.Server(t)
	e := open(t, first, nil)
	e.refresh()
	if got := e.serial(t, ca); got != first.Serial(t) || e.Exchanges() != 0 {
		t.Errorf("%s after %d exchanges, want the first", got, e.Exchanges())
	}
	e.write(t, second)
	e.refresh()
	if got := e.serial(t, ca); got != second.Serial(t) || e.Exchanges() != 1 || e.log.lines("have changed") != 1 {
		t.Errorf("%s after %d exchanges, want the second", got, e.Exchanges())
	}
}

// While a certificate lacks its key, the previous pair stays in use. This is reported once if it
// lasts.
func TestHalfAPair(t *testing.T) {
	ca := authority.New(t, "ca")
	first, second := ca.Server(t), ca.Server(t)
	e := open(t, first, nil)
	authority.File(t, e.path("cert"), second.Cert)
	e.refresh()
	if e.Failure() != "" || e.log.lines("") != 0 {
		t.Errorf("after one reading: %q", e.Failure())
	}
	for range 3 {
		e.refresh()
	}
	if e.serial(t, ca) != first.Serial(t) || !strings.Contains(e.Failure(), "does not belong") || e.log.lines("does not belong") != 1 {
		t.Errorf("failure %q, logged %d times", e.Failure(), e.log.lines("does not belong"))
	}
	authority.File(t, e.path("key"), second.Key)
	e.refresh()
	if e.serial(t, ca) != second.Serial(t) || e.Failure() != "" {
		t.Errorf("with the key: %q", e.Failure())
	}
}

// Unusable content of a file does not replace the content in use. Each new fault is reported, and
// so is the recovery.
func TestBrokenFiles(t *testing.T) {
	ca, old := authority.New(t, "ca"), authority.New(t, "old")
	p := ca.Server(t)
	e := open(t, p, old.PEM)
	for i, broken := range []struct {
		file string
		data []byte
		want string
	}{
		{"cert", nil, "holds no certificate"},
		{"cert", p.Cert[:len(p.Cert)/2], "is cut off"},
		{"cas", []byte("x"), "holds no certificate"},
		{"key", []byte("x"), "holds no private key"},
	} {
		was := map[string][]byte{"cert": p.Cert, "key": p.Key, "cas": old.PEM}[broken.file]
		authority.File(t, e.path(broken.file), broken.data)
		for range 3 {
			e.refresh()
		}
		if !strings.Contains(e.Failure(), broken.want) || e.log.lines("stay in use") != i+1 {
			t.Errorf("%s: %q, logged %d times", broken.want, e.Failure(), e.log.lines("stay in use"))
		}
		authority.File(t, e.path(broken.file), was)
		e.refresh()
		if e.Failure() != "" || e.log.lines("again have the content") != i+1 || e.Exchanges() != 0 {
			t.Errorf("%s, repaired: %q, %d exchanges", broken.want, e.Failure(), e.Exchanges())
		}
	}
}

// An expired certificate does not replace a valid one.
func TestExpired(t *testing.T) {
	ca := authority.New(t, "ca")
	first := ca.Server(t)
	e := open(t, first, nil)
	e.write(t, ca.Server(t, authority.Expired))
	e.refresh()
	e.refresh()
	if e.serial(t, ca) != first.Serial(t) || !strings.Contains(e.Failure(), "has expired on") {
		t.Errorf("failure %q", e.Failure())
	}
	// Starting with an expired certificate is logged. Another expired one may replace it.
	e = open(t, ca.Server(t, authority.Expired), nil)
	if e.log.lines("has expired on") != 1 {
		t.Error("it is not logged")
	}
	e.write(t, ca.Server(t, authority.Expired))
	if e.refresh(); e.Exchanges() != 1 {
		t.Error("an expired certificate was not replaced by another")
	}
}

// Symbolic links into a directory are followed again when the directory is replaced.
func TestMount(t *testing.T) {
	ca := authority.New(t, "ca")
	files := func(p authority.Pair) map[string][]byte {
		return map[string][]byte{"tls.crt": p.Cert, "tls.key": p.Key}
	}
	m := authority.NewMount(t, files(ca.Server(t)))
	s, err := Open(Files{Name: "tls", Cert: m.Path("tls.crt"), Key: m.Path("tls.key")}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		next := ca.Server(t)
		m.Write(t, files(next))
		s.refresh()
		if got := s.Material().Chain[0].SerialNumber.String(); got != next.Serial(t) || s.Exchanges() != i+1 || s.Failure() != "" {
			t.Errorf("%s after %d exchanges, %q", got, s.Exchanges(), s.Failure())
		}
	}
}

// Clients must have a certificate of the current CAs. A session that began under previous CAs is
// not resumed; its client can begin a new one.
func TestClientCAs(t *testing.T) {
	ca, before, after := authority.New(t, "ca"), authority.New(t, "before"), authority.New(t, "after")
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			e := open(t, ca.Server(t), before.PEM)
			server := e.Server(tls.RequireAndVerifyClientCert, HTTP1)
			of := func(p ...authority.Pair) *tls.Config {
				c := &tls.Config{RootCAs: authority.Pool(ca), MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(10)}
				for _, one := range p {
					c.Certificates = append(c.Certificates, one.TLS(t))
				}
				return c
			}
			known := of(before.Client(t))
			for i := range 2 {
				if state, err := shake(t, server, known); err != nil || state.DidResume != (i == 1) {
					t.Errorf("handshake %d: resumed %t, %v", i, state.DidResume, err)
				}
			}
			for who, conf := range map[string]*tls.Config{
				"no client": of(), "a stranger": of(after.Client(t)), "one that has expired": of(before.Client(t, authority.Expired)),
				"a server": of(before.Server(t)),
			} {
				if _, err := shake(t, server, conf); err == nil {
					t.Errorf("%s is accepted", who)
				}
				for _, one := range conf.Certificates {
					if e.AcceptsClient([]*x509.Certificate{one.Leaf}) == nil {
						t.Errorf("%s would be accepted", who)
					}
				}
			}
			earlier := []*x509.Certificate{known.Certificates[0].Leaf}
			if err := e.AcceptsClient(earlier); err != nil {
				t.Error(err)
			}
			authority.File(t, e.path("cas"), after.PEM)
			e.refresh()
			if _, err := shake(t, server, known); err == nil {
				t.Error("a session outlives the CA of its client")
			}
			if e.AcceptsClient(earlier) == nil {
				t.Error("a certificate outlives its CA")
			}
			known.Certificates = []tls.Certificate{after.Client(t).TLS(t)}
			if state, err := shake(t, server, known); err != nil || state.DidResume {
				t.Errorf("with the new certificate: resumed %t, %v", state.DidResume, err)
			}
		})
	}
}

func TestNoOldVersions(t *testing.T) {
	ca := authority.New(t, "ca")
	e := open(t, ca.Server(t), nil)
	old := &tls.Config{RootCAs: authority.Pool(ca), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if _, err := shake(t, e.Server(tls.NoClientCert, HTTP1), old); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}

// Watch reads the files of the ends in the set every Interval, and ends with its context.
func TestWatch(t *testing.T) {
	ca := authority.New(t, "ca")
	synctest.Test(t, func(t *testing.T) {
		set := &Set{}
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { set.Watch(ctx) })
		e := open(t, ca.Server(t), nil)
		watched, err := set.Open(e.files, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		exchanged := func(want int64) {
			t.Helper()
			e.write(t, ca.Server(t))
			time.Sleep(Interval + time.Millisecond)
			if watched.Exchanges() != want {
				t.Errorf("%d exchanges, want %d", watched.Exchanges(), want)
			}
		}
		for i := range int64(3) {
			exchanged(i + 1)
		}
		set.Remove(watched)
		exchanged(3)
		if len(set.Sources()) != 0 {
			t.Error("the removed end is in the set")
		}
		stop()
		watching.Wait()
	})
}

func TestDescribe(t *testing.T) {
	ca, clients := authority.New(t, "issuer"), authority.NewCAs(t, "clients", 5)
	e := open(t, ca.Server(t, authority.For("mcp.example.com", "10.0.0.1")), authority.Bundle(clients...))
	lines, problems := Describe(e.files, true)
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"tls.cert " + e.path("cert") + " is for mcp.example.com, 10.0.0.1, issued by CN=issuer, valid until 20", "(in 24h0m0s)",
		"tls.client-ca " + e.path("cas") + " has CN=clients0; CN=clients1; CN=clients2; and 2 more, valid until 20",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if len(problems) > 0 {
		t.Errorf("%v", problems)
	}
	for want, p := range map[string]authority.Pair{
		"has expired on":                    ca.Server(t, authority.Expired),
		"is not for servers":                ca.Client(t, authority.For("localhost")),
		"has no name that clients look at":  ca.Server(t, authority.For()),
		"does not belong to the first cert": {Cert: ca.Server(t).Cert, Key: ca.Server(t).Key},
	} {
		e.write(t, p)
		if _, problems := Describe(e.files, true); len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%v, want %q", problems, want)
		}
	}
}
