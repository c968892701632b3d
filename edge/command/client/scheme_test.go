package client

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// either is a listener that accepts both TLS and plain HTTP at one address.
type either struct {
	net.Listener
	settings *tls.Config
}

// peeked is a connection whose first bytes are in a buffer.
type peeked struct {
	net.Conn
	in *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.in.Read(b) }

func (e either) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(c)
	if first, _ := in.Peek(1); len(first) == 1 && first[0] == 0x16 { // a TLS handshake
		return tls.Server(peeked{c, in}, e.settings), nil
	}
	return peeked{c, in}, nil
}

// A token for an https URL is not sent over http, even to the same host and port.
func TestCallKeepsItsScheme(t *testing.T) {
	ca := httptest.NewTLSServer(nil)
	defer ca.Close()
	dir := t.TempDir()
	caFile, tokenFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "token")
	for path, text := range map[string][]byte{
		caFile:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate().Raw}),
		tokenFile: []byte("a-token"),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var secure, plain, leaked atomic.Int64
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			if r.Header.Get("Authorization") == "Bearer a-token" {
				secure.Add(1)
			}
			http.Redirect(w, r, "http://"+r.Host+"/mcp", http.StatusTemporaryRedirect)
			return
		}
		plain.Add(1)
		if r.Header.Get("Authorization") != "" {
			leaked.Add(1)
		}
		http.NotFound(w, r)
	})}
	go func() { _ = s.Serve(either{l, &tls.Config{Certificates: ca.TLS.Certificates}}) }()
	defer func() { _ = s.Close() }()
	var out, stderr bytes.Buffer
	err = Call(t.Context(), []string{"--token-file", tokenFile, "--ca", caFile, "https://" + l.Addr().String() + "/mcp", "add"}, "test", &out, &stderr)
	if err == nil || secure.Load() == 0 || plain.Load() == 0 || leaked.Load() > 0 {
		t.Errorf("%d requests over https have the token, and %d of %d over http: %v", secure.Load(), leaked.Load(), plain.Load(), err)
	}
}

// A password in the URL is not printed.
func TestCallPrintsNoPassword(t *testing.T) {
	var out, stderr bytes.Buffer
	for _, url := range []string{"http://edge:hunter2@127.0.0.1:1/mcp", "edge:hunter2@127.0.0.1", "://edge:hunter2@x"} {
		err := Call(t.Context(), []string{url, "add"}, "test", &out, &stderr)
		if err == nil || strings.HasPrefix(url, "http") && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
