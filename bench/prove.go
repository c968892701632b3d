package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// askCases measure what it costs to ask somebody else about each call, and to show backends who is calling. The exchanged token is that of
// one caller, which is fetched once; the signed one is another for each call.
func askCases() []benchCase {
	var cases []benchCase
	for _, e := range eras {
		cases = append(cases, externalCase(e, 64), identityCase(e, 64), dpopCase(e, 64))
	}
	return cases
}

// externalCase has a policy server asked about each call, a process of its own.
func externalCase(e era, connections int) benchCase {
	return askCase(fmt.Sprintf("access-external-%s-%d", e.name, connections), e, connections, []string{"external"},
		func(f *fleet, _ []string) ([]locked, error) {
			p, err := f.printing("authorizer", nil)
			if err != nil {
				return nil, err
			}
			return []locked{{name: "external", config: "policy:\n  external: {target: " + p.addr + "}\n"}}, nil
		})
}

// identityCase has the backend get a signed identity, or a token of its own.
func identityCase(e era, connections int) benchCase {
	return askCase(fmt.Sprintf("access-identity-%s-%d", e.name, connections), e, connections, []string{"signed", "exchange"},
		func(f *fleet, targets []string) ([]locked, error) {
			key, secret := filepath.Join(f.dir, "identity.pem"), filepath.Join(f.dir, "exchange.secret")
			if err := writeKey(key); err != nil {
				return nil, err
			}
			if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
				return nil, err
			}
			tokens, err := f.exchanger()
			if err != nil {
				return nil, err
			}
			return []locked{
				{name: "signed", config: "server: {signing-key: " + key + "}\n" + backendsWith(targets, "signed")},
				{name: "exchange", config: backendsWith(targets, "exchange"),
					issuer: fmt.Sprintf(", exchange: {url: %q, client-id: edge, client-secret-file: %q}", tokens, secret)},
			}, nil
		})
}

// backendsWith are the settings of backends that are shown who is calling in one way.
func backendsWith(targets []string, identity string) string {
	var b strings.Builder
	b.WriteString("backends:\n")
	for i, target := range targets {
		fmt.Fprintf(&b, "  - {name: bench%d, target: %q, identity: %s}\n", i, target, identity)
	}
	return b.String()
}

// askCase compares ways to lock an edge, which a function makes for the addresses of backends, with one that wants a token alone.
func askCase(name string, e era, connections int, names []string, ways func(*fleet, []string) ([]locked, error)) benchCase {
	c := benchCase{name: name, rounds: fine, slice: brief}
	for _, n := range names {
		c.claims = append(c.claims, ratio(callRate, n, "token"), ratio(cpuTime, n, "token"))
	}
	c.start = func(f *fleet) ([]subject, error) {
		backends, err := f.service()
		if err != nil {
			return nil, err
		}
		targets := addresses(backends)
		further, err := ways(f, targets)
		if err != nil {
			return nil, err
		}
		all := append([]locked{{name: "token", config: backendsWith(targets, "principal")}}, further...)
		for i := range all {
			if !strings.Contains(all[i].config, "backends:") {
				all[i].config += backendsWith(targets, "principal")
			}
		}
		servers, more, err := f.lock(all, nil)
		if err != nil {
			return nil, err
		}
		subjects, err := speakingWith(more, e, echo, connections, servers...)
		return inTurn(subjects), err
	}
	return c
}

// addresses are those of the flags that fleet.service gives.
func addresses(flags []string) (out []string) {
	for _, f := range flags {
		if _, target, ok := strings.Cut(f, "="); ok {
			out = append(out, target)
		}
	}
	return out
}

// dpopCase has each request prove the key that its token is bound to. The generator signs the proofs, with P-256: the calls per second
// of both tell little. Each connection is a caller of its own, since one caller may use 65,536 proofs in a minute.
func dpopCase(e era, connections int) benchCase {
	c := benchCase{name: fmt.Sprintf("access-dpop-%s-%d", e.name, connections), rounds: fine, slice: brief,
		claims: []claim{ratio(cpuTime, "dpop", "token")}}
	c.start = func(f *fleet) ([]subject, error) {
		backends, err := f.service()
		if err != nil {
			return nil, err
		}
		s, err := f.issue()
		if err != nil {
			return nil, err
		}
		servers, err := f.lockedBy(s, []locked{{name: "token", config: "\n"}, {name: "dpop", config: "\n", auth: "  dpop: require\n"}}, backends)
		if err != nil {
			return nil, err
		}
		var subjects []subject
		for _, srv := range servers {
			calls := make([]load.Call, connections)
			for n := range calls {
				if calls[n], err = callerOf(e, s, srv, fmt.Sprint("caller", n)); err != nil {
					return nil, fmt.Errorf("%s: %w", srv.name, err)
				}
			}
			subjects = append(subjects, under(srv.name, srv.proc, connections, calls...))
		}
		return inTurn(subjects), nil
	}
	return c
}

// callerOf is a caller with a token of its own, who proves its key to the server named dpop.
func callerOf(e era, s signer, srv server, subject string) (load.Call, error) {
	if srv.name != "dpop" {
		c, err := e.connect(srv.proc.addr, http.Header{"Authorization": {"Bearer " + s.token(subject, nil)}})
		if err != nil {
			return nil, err
		}
		return echo.call(c), nil
	}
	key := issuer.NewProver()
	token := s.token(subject, key.Bound())
	proving := func(r load.Request) load.Request {
		return r.WithHeader("DPoP", []byte(key.Proof(http.MethodPost, audience+"/mcp", token, nil, nil)))
	}
	c, err := e.connectAs(srv.proc.addr, http.Header{"Authorization": {"DPoP " + token}}, proving)
	if err != nil {
		return nil, err
	}
	r := c(echo.method, echo.target, echo.params, echo.meta)
	return func(conn *load.Conn) error { return load.Wanting(proving(r), echo.want, echo.events)(conn) }, nil
}

// exchanger is the token endpoint of an issuer, in this process: it gives one token after the other, good for a day.
func (f *fleet) exchanger() (url string, _ error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"`+rand.Text()+`","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":86400}`)
	})}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	}()
	f.onStop(func() { _ = s.Close() })
	return "http://" + l.Addr().String() + "/token", nil
}
