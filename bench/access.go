package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// What it may cost to know who calls: of throughput, for a token that was verified before; and what a filtered list may
// cost of one that all callers share.
const (
	mostTokenCost    = 0.05
	mostFilteredCost = 1.1
)

// locked is a way to lock an edge.
type locked struct {
	name string
	// config is the edge's file, beside the issuer of the token; empty: the edge is open.
	config string
	// issuer are further members of the issuer's settings, each behind a comma, and auth further lines of the section.
	issuer, auth string
}

const (
	issuerName = "https://issuer.bench"
	audience   = "https://edge.bench"
)

// policyFile decides by scopes and by rules, none of which look at arguments, as most policies do.
const policyFile = `
policy:
  default: deny
  hierarchy:
    admin: [write]
    write: [read]
  scopes:
    - {tools: ["admin_*"], need: [admin]}
    - {need: [read]}
  rules:
    - {name: no interns, when: 'tool.annotations.destructive && "intern" in principal.roles', then: hide}
    - {name: the rest, when: 'true', then: allow}
`

const quotaFile = `
quotas:
  - {per: principal, rate: 1000000/1s, burst: 1000000}
`

func (f *fleet) auditFile() string {
	return "\naudit:\n  file: " + filepath.Join(f.dir, "audit.jsonl") + "\n"
}

// open is what the others are compared with. Its clients send the token, too.
var open = locked{name: "open"}

// accessCases measure what locks cost: a token that is verified for each request, from the cache; then beside that a policy;
// a quota; and a record of each decision and outcome. And lists that a policy filters, beside those that all share.
func accessCases() []benchCase {
	var cases []benchCase
	for _, e := range eras {
		for _, n := range []int{8, 64} {
			cases = append(cases, lockedCase(e, n))
		}
	}
	return append(cases, filteredCase(1000, 100))
}

func lockedCase(e era, connections int) benchCase {
	c := benchCase{name: fmt.Sprintf("access-%s-%d", e.name, connections), rounds: fine, slice: brief, claims: []claim{
		ratio(callRate, "token", open.name).atLeast(1 - mostTokenCost), ratio(cpuTime, "token", open.name)}}
	for _, name := range []string{"policy", "quota", "audit"} {
		c.claims = append(c.claims, ratio(callRate, name, "token"), ratio(cpuTime, name, "token"))
	}
	c.start = func(f *fleet) ([]subject, error) {
		backends, err := f.service()
		if err != nil {
			return nil, err
		}
		ways := []locked{open, {name: "token", config: "\n"}, {name: "policy", config: policyFile},
			{name: "quota", config: quotaFile}, {name: "audit", config: f.auditFile()}}
		servers, more, err := f.lock(ways, backends)
		if err != nil {
			return nil, err
		}
		subjects, err := speakingWith(more, e, echo, connections, servers...)
		return inTurn(subjects), err
	}
	return c
}

// filteredCase lists tools of which a policy hides none, so that both lists are the same.
func filteredCase(tools, page int) benchCase {
	c := benchCase{name: fmt.Sprintf("access-list-%d-by-%d-8", tools, page), rounds: 12 * shown, slice: 80 * time.Millisecond,
		claims: []claim{ratio(callRate, "policy", "token"), ratio(cpuTime, "policy", "token").atMost(mostFilteredCost)}}
	c.start = func(f *fleet) ([]subject, error) {
		backends, err := f.service("--tools", fmt.Sprint(tools))
		if err != nil {
			return nil, err
		}
		ways := []locked{{name: "token", config: "\n"}, {name: "policy", config: policyFile}}
		servers, more, err := f.lock(ways, append(backends, "MCPEDGE_LISTS_PAGE_SIZE="+fmt.Sprint(page)))
		if err != nil {
			return nil, err
		}
		var subjects []subject
		for _, s := range servers {
			cl, err := modern.connect(s.proc.addr, more)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			subjects = append(subjects, under(s.name, s.proc, 8, listing(cl, tools)))
		}
		return inTurn(subjects), nil
	}
	return c
}

// lock starts edges that are locked in these ways, several of each, and gives the headers of a client that they all let in.
func (f *fleet) lock(ways []locked, flags []string) (servers []server, more http.Header, _ error) {
	s, err := f.issue()
	if err != nil {
		return nil, nil, err
	}
	servers, err = f.lockedBy(s, ways, flags)
	return servers, http.Header{"Authorization": {"Bearer " + s.token("bench", nil)}}, err
}

// lockedBy starts edges that accept the tokens of a signer.
func (f *fleet) lockedBy(s signer, ways []locked, flags []string) (servers []server, _ error) {
	for i := range processes * len(ways) {
		w := ways[i%len(ways)]
		args := flags
		if w.config != "" {
			path := filepath.Join(f.dir, w.name+".yaml")
			text := fmt.Sprintf("listen: {public-url: %s}\nauth:\n  issuers:\n    - {issuer: %q, jwks: %q, audiences: [%q], algorithms: [EdDSA]%s}\n%s%s",
				audience, issuerName, s.keys, audience, w.issuer, w.auth, w.config)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return nil, err
			}
			args = append(append([]string{}, flags...), "--config", path)
		}
		p, err := f.edge(args...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		servers = append(servers, server{w.name, p})
	}
	return servers, nil
}

// signer is an issuer: a file with its keys, and the one that signs.
type signer struct {
	keys    string
	private ed25519.PrivateKey
}

// issue writes the keys of an issuer into a file.
func (f *fleet) issue() (s signer, _ error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return s, err
	}
	s = signer{filepath.Join(f.dir, "keys.json"), private}
	text := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"bench","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
	return s, os.WriteFile(s.keys, []byte(text), 0o600)
}

// token signs one with more claims, which is good for longer than a case takes.
func (s signer) token(subject string, more map[string]any) string {
	claims := jwt.MapClaims{
		"iss": issuerName, "aud": audience, "sub": subject, "scope": "write", "roles": []string{"tester"}, "exp": time.Now().Add(24 * time.Hour).Unix(),
	}
	maps.Copy(claims, more)
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	t.Header["kid"] = "bench"
	text, err := t.SignedString(s.private)
	if err != nil {
		panic(err) // an Ed25519 key signs whatever it is given
	}
	return text
}

// writeKey writes a new private key, as openssl does.
func writeKey(path string) error {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}
