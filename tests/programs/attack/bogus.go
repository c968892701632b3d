package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// bogus is a kind of credentials that are refused.
type bogus struct {
	name string
	// reasons are those that the edge may count its refusals by.
	reasons []string
	// make makes new ones: the header Authorization and, unless it is empty, DPoP.
	make func(f *forger) (authorization, proof string)
}

// forger makes bogus credentials. Safe for concurrent use.
type forger struct {
	*lock
	endpoint string
	// own is the forger's key. Its name is the issuer's, its private key is not.
	own issuer.Key
	// stolen is a token that is good and bound to the key of owner, of which used is a proof that was accepted.
	stolen       string
	owner, other *issuer.Prover
	used         string
}

// newForger makes a forger beside the edge at an endpoint.
func newForger(l *lock, endpoint string) (*forger, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	f := &forger{
		lock: l, endpoint: endpoint, own: issuer.Key{ID: l.Newest().ID, Method: jwt.SigningMethodES256, Private: key},
		owner: issuer.NewProver(), other: issuer.NewProver(),
	}
	f.stolen = l.Token("bound", endpoint, f.owner.Bound(), map[string]any{"exp": time.Now().Add(24 * time.Hour).Unix()})
	f.used = f.prove(f.owner, nil)
	return f, nil
}

// prove makes a proof of a key for a call, with these changes of its claims.
func (f *forger) prove(p *issuer.Prover, changes map[string]any) string {
	return p.Proof(http.MethodPost, f.endpoint, f.stolen, nil, changes)
}

// claims are those of a token that were good if the issuer had signed it.
func (f *forger) claims() jwt.MapClaims { return f.Claims("forged", f.endpoint) }

// garbage is as long as a signature, and none.
func garbage(header, claims string, size int) string {
	signature := make([]byte, size)
	_, _ = rand.Read(signature) // it never fails
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(claims)) + "." + encode(signature)
}

// text is JSON of claims as they are in most forgeries, with more members, each with a comma before it.
func (f *forger) text(more string) string {
	return `{"iss":"` + f.URL + `","aud":"` + f.endpoint + `","sub":"forged","exp":9999999999,"jti":"` + rand.Text() + `"` + more + `}`
}

// bogusKinds are the kinds of credentials of the attack tokens.
var bogusKinds = []bogus{
	{"unknown key", []string{"key"}, func(f *forger) (string, string) {
		return "Bearer " + garbage(`{"alg":"ES256","kid":"`+rand.Text()+`"}`, f.text(""), 64), ""
	}},
	{"signed by another", []string{"signature"}, func(f *forger) (string, string) {
		return "Bearer " + f.own.Sign(f.claims(), nil), ""
	}},
	{"signature of RSA that is none", []string{"signature"}, func(f *forger) (string, string) {
		return "Bearer " + garbage(`{"alg":"RS256","kid":"key-1"}`, f.text(""), 256), ""
	}},
	{"algorithm", []string{"algorithm"}, func(f *forger) (string, string) {
		algorithms := []string{"none", "HS256", "RS256", "ES512"} // the key p256 makes no signatures of the last two
		return "Bearer " + garbage(`{"alg":"`+algorithms[mathrand.N(len(algorithms))]+`","kid":"p256"}`, f.text(""), 64), ""
	}},
	{"other issuer", []string{"issuer"}, func(f *forger) (string, string) {
		c := f.claims()
		c["iss"] = "https://" + strings.ToLower(rand.Text()) + ".example"
		return "Bearer " + f.own.Sign(c, nil), ""
	}},
	{"other audience", []string{"audience"}, func(f *forger) (string, string) {
		return "Bearer " + f.Token("elsewhere", "https://other.example/mcp"), ""
	}},
	{"expired", []string{"expired"}, func(f *forger) (string, string) {
		return "Bearer " + f.Token("late", f.endpoint, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), ""
	}},
	{"huge", []string{"too_large"}, func(f *forger) (string, string) {
		return "Bearer " + garbage(`{"alg":"ES256","kid":"p256"}`, f.text(`,"x":"`+strings.Repeat("x", 24<<10)+`"`), 64), ""
	}},
	{"as large as may be", []string{"signature"}, func(f *forger) (string, string) {
		return "Bearer " + garbage(`{"alg":"ES256","kid":"p256"}`, f.text(`,"x":"`+strings.Repeat("x", 11<<10)+`"`), 64), ""
	}},
	{"malformed", []string{"malformed", "unknown", "missing"}, func(f *forger) (string, string) {
		return malformed[mathrand.N(len(malformed))](f), ""
	}},
	{"bound, without proof", []string{"bound"}, func(f *forger) (string, string) { return "Bearer " + f.stolen, "" }},
	{"proof used before", []string{"proof"}, func(f *forger) (string, string) { return "DPoP " + f.stolen, f.used }},
	{"forged proof", []string{"proof"}, func(f *forger) (string, string) {
		return "DPoP " + f.stolen, forgedProofs[mathrand.N(len(forgedProofs))](f)
	}},
}

// malformed are headers that have no token that can be read.
var malformed = []func(f *forger) string{
	func(*forger) string { return "Bearer" },
	func(*forger) string { return "Basic " + rand.Text() },
	func(*forger) string { return "Bearer " + rand.Text() },
	func(*forger) string { return "Bearer a b" },
	func(*forger) string { return "Bearer " + rand.Text() + "\u00e9" },
	func(*forger) string { return "Bearer ====" },
	func(*forger) string { return "Bearer .." },
	func(*forger) string { return "Bearer " + strings.Repeat(".", 15<<10) },
	func(*forger) string { return "Bearer " + strings.Repeat("e30.", 3<<10) },
	func(f *forger) string { return "Bearer " + f.Token("forged", f.endpoint) + ".e30.e30" },
	func(f *forger) string { return "Bearer " + garbage(`{"alg":"ES256","kid":"p256"`, f.text(""), 64) },
	func(f *forger) string { return "Bearer " + garbage(`{"alg":"ES256","alg":"none"}`, f.text(""), 64) },
	func(f *forger) string {
		return "Bearer " + garbage(`{"alg":"ES256","kid":"p256"}`, f.text(`,"sub":"admin"`), 64)
	},
	func(f *forger) string {
		return "Bearer " + garbage(`{"alg":"ES256"}`, strings.Repeat("[", 10<<10), 64)
	},
	func(f *forger) string {
		return "Bearer " + garbage(`{"alg":"ES256"}`, f.text(`,"x":`+strings.Repeat(`{"x":`, 2<<10)), 64)
	},
}

// forgedProofs are for the stolen token.
var forgedProofs = []func(f *forger) string{
	func(f *forger) string { return f.prove(f.other, nil) },
	func(f *forger) string { return f.prove(f.owner, map[string]any{"htm": http.MethodGet}) },
	func(f *forger) string { return f.prove(f.owner, map[string]any{"htu": "https://other.example/mcp"}) },
	func(f *forger) string { return f.prove(f.owner, map[string]any{"ath": rand.Text()}) },
	func(f *forger) string {
		return f.prove(f.owner, map[string]any{"iat": time.Now().Add(-time.Hour).Unix()})
	},
	func(f *forger) string {
		return f.prove(f.owner, map[string]any{"iat": time.Now().Add(time.Hour).Unix()})
	},
	func(f *forger) string { return f.prove(f.owner, map[string]any{"jti": nil}) },
	func(f *forger) string { return f.prove(f.owner, map[string]any{"jti": strings.Repeat("j", 4<<10)}) },
	func(f *forger) string {
		signed := f.prove(f.owner, nil)
		return signed[:strings.LastIndexByte(signed, '.')+1] + base64.RawURLEncoding.EncodeToString(make([]byte, 64))
	},
	func(*forger) string { return strings.Repeat("p", 12<<10) },
	func(*forger) string { return "." },
}
