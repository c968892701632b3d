package identity

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func pkcs8(t testing.TB, private any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func newEd25519(t testing.TB) []byte {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pkcs8(t, k)
}

func newECDSA(t testing.TB, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newRSA(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// file is a key file that a test changes.
type file struct {
	mu  sync.Mutex
	raw []byte
	err error
}

func (f *file) set(raw []byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raw, f.err = raw, err
}

func (f *file) read() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.raw), f.err
}

func open(t testing.TB, raw []byte) (*Keys, *file) {
	t.Helper()
	f := &file{raw: raw}
	k, err := Open(f.read, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return k, f
}

// published returns the public keys of the JWK Set, and their ids in order.
func published(t testing.TB, k *Keys) (keys map[string]any, ids []string) {
	t.Helper()
	var set jwkset.JWKSMarshal
	if err := json.Unmarshal(k.JWKS(), &set); err != nil {
		t.Fatal(err)
	}
	keys = map[string]any{}
	for _, one := range set.Keys {
		jwk, err := jwkset.NewJWKFromMarshal(one, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		keys[one.KID], ids = jwk.Key(), append(ids, one.KID)
		if one.USE != jwkset.UseSig || one.ALG == "" || one.D != "" || one.P != "" {
			t.Errorf("published: %+v", one)
		}
	}
	return keys, ids
}

var alice = mcp.Principal{
	Subject: "alice", Issuer: "https://id.example.com", Scopes: []string{"mcp:read", "mcp:write"}, Roles: []string{"admin"},
	Client: "desk", Actor: "agent", Forwarded: map[string]json.RawMessage{"tenant": json.RawMessage(`{"id": 7}`), "other": json.RawMessage(`1`)},
}

// Every supported type of key signs identities that the published keys verify, with all claims.
func TestSign(t *testing.T) {
	ec := newECDSA(t, elliptic.P256())
	sec1, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	small := newRSA(t, 2048)
	for name, c := range map[string]struct {
		raw []byte
		alg string
	}{
		"Ed25519": {newEd25519(t), "EdDSA"},
		"P-256":   {pkcs8(t, ec), "ES256"},
		"SEC 1":   {append(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{1}}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})...), "ES256"},
		"P-384":   {pkcs8(t, newECDSA(t, elliptic.P384())), "ES384"},
		"RSA":     {pkcs8(t, small), "RS256"},
		"PKCS #1": {pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(small)}), "RS256"},
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := open(t, c.raw)
			s := &Signer{Keys: k, Issuer: "https://mcp.example.com", Audience: "crm", Claims: []string{"tenant", "missing"}}
			before := time.Now().Truncate(time.Second)
			key, text, err := s.Prove(t.Context(), &alice, "call-1")
			if err != nil || key != Metadata {
				t.Fatalf("%q, %v", key, err)
			}
			keys, _ := published(t, k)
			got := jwt.MapClaims{}
			token, err := jwt.ParseWithClaims(text, got, func(t *jwt.Token) (any, error) { return keys[t.Header["kid"].(string)], nil },
				jwt.WithValidMethods([]string{c.alg}), jwt.WithAudience("crm"), jwt.WithIssuer("https://mcp.example.com"), jwt.WithExpirationRequired())
			if err != nil || token.Header["typ"] != Type {
				t.Fatalf("%v, header %v", err, token.Header)
			}
			iat, _ := got.GetIssuedAt()
			exp, _ := got.GetExpirationTime()
			if exp.Sub(iat.Time) != Lifetime || iat.Before(before) {
				t.Errorf("from %v to %v", iat, exp)
			}
			delete(got, "iat")
			delete(got, "exp")
			want := jwt.MapClaims{
				"iss": "https://mcp.example.com", "aud": []any{"crm"}, "sub": "alice", "txn": "call-1", "client_id": "desk",
				"sub_id": map[string]any{"format": "iss_sub", "iss": "https://id.example.com", "sub": "alice"},
				"scope":  "mcp:read mcp:write", "roles": []any{"admin"}, "act": map[string]any{"sub": "agent"},
				"claims": map[string]any{"tenant": map[string]any{"id": 7.0}},
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if s.Signed() != 1 || s.Failed() != 0 {
				t.Errorf("%d signed, %d failed", s.Signed(), s.Failed())
			}
		})
	}
}

// The identity of the anonymous caller has no subject.
func TestAnonymous(t *testing.T) {
	k, _ := open(t, newEd25519(t))
	s := &Signer{Keys: k, Issuer: "mcpedge", Audience: "crm", Claims: []string{"tenant"}}
	_, text, err := s.Prove(t.Context(), &mcp.Principal{}, "")
	if err != nil {
		t.Fatal(err)
	}
	got := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(text, got); err != nil {
		t.Fatal(err)
	}
	delete(got, "iat")
	delete(got, "exp")
	if d := cmp.Diff(jwt.MapClaims{"iss": "mcpedge", "aud": []any{"crm"}}, got); d != "" {
		t.Error(d)
	}
}

// The key id is that of RFC 7638, as in the example of section 3.1.
func TestThumbprint(t *testing.T) {
	got, err := thumbprint(jwkset.JWKMarshal{
		KTY: "RSA", E: "AQAB", ALG: "RS256", KID: "2011-04-29",
		N: "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs" +
			"tn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbI" +
			"SD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
	})
	if err != nil || got != "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs" {
		t.Errorf("%s, %v", got, err)
	}
}

// The error for an unusable file says what is wrong and what to do.
func TestOpenSaysWhatIsWrong(t *testing.T) {
	one := newEd25519(t)
	nine := bytes.Join([][]byte{newEd25519(t), newEd25519(t), newEd25519(t), newEd25519(t), newEd25519(t), newEd25519(t), newEd25519(t), newEd25519(t), one}, nil)
	for want, raw := range map[string][]byte{
		"it contains no private key: create one as PEM":    []byte("x"),
		"it is truncated or malformed after 1 keys":        append(slices.Clone(one), one[:40]...),
		"key number 2 is a duplicate":                      append(slices.Clone(one), one...),
		"it has more than 8 keys":                          nine,
		"key number 1: it is encrypted":                    pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}),
		"key number 1: it cannot be read":                  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}),
		"key number 1: it is an RSA key of 1024 bits: use": pkcs8(t, newRSA(t, 1024)),
		"key number 1: its type is not supported:":         pkcs8(t, newECDSA(t, elliptic.P521())),
	} {
		if _, err := Open((&file{raw: raw}).read, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Open((&file{err: errors.New("gone")}).read, nil); err == nil {
		t.Error("a file that cannot be read is taken")
	}
}

// A new key is published before it signs, and the old one stays published for some time. An invalid
// file changes nothing.
func TestRotate(t *testing.T) {
	first, second := newEd25519(t), pkcs8(t, newECDSA(t, elliptic.P256()))
	synctest.Test(t, func(t *testing.T) {
		k, f := open(t, first)
		s := &Signer{Keys: k, Issuer: "mcpedge", Audience: "crm"}
		var watching sync.WaitGroup
		defer watching.Wait()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		watching.Go(func() { k.Watch(ctx) })
		signer := func() string {
			_, text, err := s.Prove(t.Context(), &alice, "x")
			if err != nil {
				t.Fatal(err)
			}
			keys, _ := published(t, k)
			token, err := jwt.Parse(text, func(t *jwt.Token) (any, error) { return keys[t.Header["kid"].(string)], nil })
			if err != nil {
				t.Fatal(err)
			}
			return token.Header["kid"].(string)
		}
		old := signer()

		for _, broken := range []struct {
			raw []byte
			err error
		}{{nil, errors.New("gone")}, {[]byte("x"), nil}, {nil, nil}} {
			f.set(broken.raw, broken.err)
			time.Sleep(3 * Interval)
			if !k.Stale() || signer() != old || k.Exchanges() != 0 {
				t.Errorf("%q: stale %t, %d exchanges", broken.raw, k.Stale(), k.Exchanges())
			}
			f.set(first, nil)
			time.Sleep(2 * Interval)
			if k.Stale() {
				t.Error("it is stale though it is as it was")
			}
		}

		f.set(second, nil)
		time.Sleep(2 * Interval)
		_, ids := published(t, k)
		if len(ids) != 2 || ids[1] != old || signer() != old || k.Exchanges() != 1 {
			t.Errorf("at once: published %v, signed by %s, which was %s", ids, signer(), old)
		}
		time.Sleep(Announced)
		if signer() != ids[0] {
			t.Errorf("signed by %s, want %s", signer(), ids[0])
		}
		time.Sleep(KeepReplaced - Announced - 4*Interval)
		if _, ids := published(t, k); len(ids) != 2 {
			t.Errorf("before the old one is let go of: %v", ids)
		}
		time.Sleep(5 * Interval)
		if _, now := published(t, k); len(now) != 1 || now[0] != ids[0] {
			t.Errorf("in the end: %v", now)
		}

		// A second key in the file is published before it signs; then the two are swapped.
		f.set(append(slices.Clone(second), first...), nil)
		time.Sleep(2 * Interval)
		if _, now := published(t, k); !slices.Equal(now, []string{ids[0], old}) || signer() != ids[0] {
			t.Errorf("with two: %v, signed by %s", now, signer())
		}
		f.set(append(slices.Clone(first), second...), nil)
		time.Sleep(2*Interval + Announced)
		if _, now := published(t, k); !slices.Equal(now, []string{old, ids[0]}) || signer() != old {
			t.Errorf("exchanged: %v, signed by %s", now, signer())
		}
	})
}

// If a file changes repeatedly before a new key signs, the signing key stays published.
func TestManyRotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := open(t, newEd25519(t))
		now := time.Now()
		for range 3 * maxKeys {
			f.set(newEd25519(t), nil)
			now = now.Add(Announced - Interval)
			k.refresh(now)
			if keys, ids := published(t, k); keys[k.ID()] == nil || len(keys) != len(ids) || len(ids) > 1+maxKeys {
				t.Fatalf("%s signs, and %v are published", k.ID(), ids)
			}
		}
		k.refresh(now.Add(Announced))
		if _, ids := published(t, k); ids[0] != k.ID() {
			t.Errorf("%s signs, and %v are published", k.ID(), ids)
		}
	})
}

// BenchmarkProve measures the signature of one call.
func BenchmarkProve(b *testing.B) {
	for _, c := range []struct {
		name string
		raw  []byte
	}{{"Ed25519", newEd25519(b)}, {"P-256", pkcs8(b, newECDSA(b, elliptic.P256()))}, {"P-384", pkcs8(b, newECDSA(b, elliptic.P384()))}, {"RSA-2048", pkcs8(b, newRSA(b, 2048))}} {
		b.Run(c.name, func(b *testing.B) {
			k, _ := open(b, c.raw)
			s := &Signer{Keys: k, Issuer: "https://mcp.example.com", Audience: "crm", Claims: []string{"tenant"}}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Prove(b.Context(), &alice, "call"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A client that acts for itself is marked as such, so that no backend mistakes it for a user of
// that name.
func TestSignClient(t *testing.T) {
	k, _ := open(t, newEd25519(t))
	s := &Signer{Keys: k, Issuer: "https://mcp.example.com", Audience: "crm"}
	for _, isClient := range []bool{false, true} {
		_, text, err := s.Prove(t.Context(), &mcp.Principal{Subject: "alice", Issuer: "https://id", SubjectIsClient: isClient}, "call-1")
		if err != nil {
			t.Fatal(err)
		}
		got := jwt.MapClaims{}
		if _, _, err := jwt.NewParser().ParseUnverified(text, got); err != nil {
			t.Fatal(err)
		}
		if said, there := got["subject_is_client"]; there != isClient || isClient && said != true {
			t.Errorf("a client %v: %v", isClient, got)
		}
	}
}
