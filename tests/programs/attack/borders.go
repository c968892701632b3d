package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func crossSite(ctx context.Context, s *site, r *ruled) (err error) {
	token := r.lock.Token("olga", r.url(), map[string]any{"scope": "mcp:operate"})
	c := r.as(s, nil)
	defer c.close()
	for _, site := range []string{"cross-site", "same-site"} {
		a, e := c.send(ctx, http.MethodPost, c.modernBody("tools/call", callMembers("echo", `{"text":"x"}`)), append(modernHeader("tools/call", "echo"), "Sec-Fetch-Site", site)...)
		b, e2 := r.admin(ctx, http.MethodGet, "/v1/sessions", token, "Sec-Fetch-Site", site)
		if e := errors.Join(e, e2); e != nil {
			return e
		}
		if a.status != http.StatusForbidden || b.status != http.StatusForbidden {
			err = errors.Join(err, fmt.Errorf("%s: %d of the MCP address, and %d of the admin address", site, a.status, b.status))
		}
	}
	return err
}

func oddHosts(ctx context.Context, s *site, r *ruled) (err error) {
	c := r.as(s, nil)
	defer c.close()
	_, port, _ := net.SplitHostPort(r.all[0].Addr)
	for _, headers := range []string{
		"Host: [127.0.0.1]:" + port, "Host: 127.0.0.1:", "Host: [localhost]", "Host: [[::1]]",
		"Host: 127.0.0.1\r\nOrigin: http://u@127.0.0.1", "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1:", "Host: 127.0.0.1\r\nOrigin: http://[127.0.0.1]x",
		"Host: 127.0.0.1\r\nOrigin: HTTP://LocalHost", "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1/path", "Host: 127.0.0.1\r\nOrigin: ftp://u:p@localhost",
	} {
		conn, e := c.dial(ctx)
		if e != nil {
			return e
		}
		_ = conn.SetDeadline(time.Now().Add(answersWithin))
		_, e = io.WriteString(conn, "POST /mcp HTTP/1.1\r\n"+headers+"\r\nAuthorization: "+c.authorization()+
			"\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
		raw, e2 := io.ReadAll(conn)
		_ = conn.Close()
		if e := errors.Join(e, e2); e != nil {
			return e
		}
		if first, _, _ := strings.Cut(string(raw), "\r\n"); !strings.Contains(first, " 403 ") {
			err = errors.Join(err, fmt.Errorf("%q: %s, let in", headers, first))
		}
	}
	return err
}

func secretsInErrors(ctx context.Context, s *site) (err error) {
	const secret = "hunter2"
	for name, text := range map[string]string{
		"an unknown key":      "redis: {url: redis://edge:" + secret + "@db:6379}\nlisen: x\n",
		"a list of keys":      "redis:\n  seal-keys:\n    - " + secret + "\nlisten: 7\n",
		"a target":            "backends: [{name: a, target: \"https://edge:" + secret + "@crm.example\"}]\n",
		"a public URL":        "listen: {public-url: https://edge:" + secret + "@mcp.example.com}\n",
		"a word that is none": "redis: {seal-keys: [[" + secret + "]]}\n",
	} {
		file := filepath.Join(s.dir, "secret.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		out, e := exec.CommandContext(ctx, s.o.program, "check", "--config", file).CombinedOutput() // #nosec G204 -- the program under attack
		if e == nil {
			err = errors.Join(err, fmt.Errorf("%s is no error", name))
		}
		if strings.Contains(string(out), secret) {
			err = errors.Join(err, fmt.Errorf("%s: the password is printed", name))
		}
	}
	return err
}
