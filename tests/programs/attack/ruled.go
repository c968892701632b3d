package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
)

// ruled is an edge that wants tokens, with an audit and an admin address that is locked.
type ruled struct {
	*fleet
	lock          *lock
	audit, config string // files; that of the audit is the first replica's
}

// withPolicy runs fn on an edge with more settings.
func withPolicy(more string, fn func(context.Context, *site, *ruled) error) func(context.Context, *site) error {
	return withBackend("", more, fn)
}

// withBackend runs fn on an edge with more settings and one more backend, a line of the configuration, or none.
func withBackend(backend, more string, fn func(context.Context, *site, *ruled) error) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) (err error) {
		dir, err := os.MkdirTemp(s.dir, "ruled-")
		if err != nil {
			return err
		}
		r := &ruled{audit: filepath.Join(dir, "audit-0.jsonl")}
		if r.lock, err = newLock(); err != nil {
			return err
		}
		defer r.lock.stop()
		r.config = filepath.Join(dir, "edge.yaml")
		if err := r.lock.configure(s.backends, r.config); err != nil {
			return err
		}
		text, err := os.ReadFile(r.config)
		if err != nil {
			return err
		}
		text = bytes.Replace(text, []byte("backends:\n"), []byte("backends:\n"+backend), 1)
		text = fmt.Appendf(text, "admin: {auth: {scope: mcp:operate}}\naudit: {file: %q}\n%s\n", filepath.Join(dir, "audit-{replica}.jsonl"), more)
		if r.fleet, err = s.start(ctx, filepath.Join(dir, "edge"), string(text)); err != nil {
			return err
		}
		defer r.kill()
		return errors.Join(fn(ctx, s, r), r.gone())
	}
}

// withServer runs fn on an edge with more settings and one more backend of that name, whose services register has.
func withServer(name, more string, register func(*grpc.Server), fn func(context.Context, *site, *ruled) error) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server, served := newServer(), make(chan struct{})
		register(server)
		go func() {
			defer close(served)
			_ = server.Serve(l)
		}()
		defer func() {
			server.Stop()
			<-served
		}()
		return withBackend(fmt.Sprintf("  - {name: %s, target: %q, refresh: 1s}\n", name, l.Addr()), more, fn)(ctx, s)
	}
}

// as is a client with a token.
func (r *ruled) as(s *site, claims map[string]any) *rogue {
	c := r.rogue(s.freshAddr())
	token := r.lock.Token("mallory", r.url(), claims)
	c.authorization = func() string { return "Bearer " + token }
	return c
}

// denied reports whether a call of echo is refused, by the policy, for its scopes or for its token.
func (r *ruled) denied(ctx context.Context, c *rogue, arguments string) (bool, error) {
	a, err := c.call(ctx, "echo", arguments)
	if err != nil {
		return false, err
	}
	return a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || strings.Contains(string(a.body), `"code":-31403`), nil
}

// each holds a call for each of some arguments against whether it is to be denied.
func (r *ruled) each(ctx context.Context, c *rogue, want map[string]bool) (err error) {
	for arguments, denied := range want {
		got, e := r.denied(ctx, c, arguments)
		if e != nil {
			return e
		}
		if got != denied {
			err = errors.Join(err, fmt.Errorf("%s: denied %t", arguments, got))
		}
	}
	return err
}

// admin sends a request to the admin address.
func (r *ruled) admin(ctx context.Context, method, path, token string, header ...string) (*answer, error) {
	c := r.fleet.admin(path)
	defer c.close()
	if token != "" {
		header = append(header, "Authorization", "Bearer "+token)
	}
	return c.send(ctx, method, "", header...)
}
