package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// lock is an authorization server on loopback, whose tokens a locked edge wants.
type lock struct {
	*issuer.Issuer
	server *httptest.Server
	config string // the edge's file
}

// newLock starts it. It has a key of RSA, and signs with one of P-256, which takes less time.
func newLock() (*lock, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	s := httptest.NewUnstartedServer(nil)
	l := &lock{Issuer: issuer.New("http://" + s.Listener.Addr().String()), server: s}
	l.Use(issuer.Key{ID: "p256", Method: jwt.SigningMethodES256, Private: key})
	s.Config.Handler = l
	s.Start()
	return l, nil
}

// configure writes the configuration of a locked edge in front of backends.
func (l *lock) configure(b *backends, file string) error {
	if err := b.configure(file); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	l.config = file
	return os.WriteFile(file, fmt.Appendf(text, "auth: {issuers: [{issuer: %q}], dpop: accept}\n", l.URL), 0o644)
}

// renewed is how long a caller uses a token. It is short, so that honest calls come with tokens that the edge has not
// seen, too.
const renewed = 2 * time.Second

// bearer is the header Authorization of a caller, with a new token every now and then. It is safe for concurrent use. Of no
// lock there is none.
func (l *lock) bearer(subject, audience string) func() string {
	if l == nil {
		return nil
	}
	var mu sync.Mutex
	var token string
	var due time.Time
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.After(due) {
			token, due = l.Token(subject, audience), now.Add(renewed)
		}
		return "Bearer " + token
	}
}

func (l *lock) stop() { l.server.Close() }
